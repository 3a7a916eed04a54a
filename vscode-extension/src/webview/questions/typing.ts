/** Records when a key was last pressed anywhere in the panel; one listener serves all questions. */

/** A listener; `at` is in milliseconds of `performance.now()`. */
export type KeyListener = (at: number, event: KeyboardEvent) => void;

let lastKeyAt = 0;
let isTabbing = false;
const listeners = new Set<KeyListener>();

/**
 * Returns the time of the last key in milliseconds of `performance.now()`, or 0 if no key was
 * pressed.
 */
export function lastKey(): number {
  return lastKeyAt;
}

/** Returns whether Tab was pressed last, without a pointer press since. */
export function lastWasTab(): boolean {
  return isTabbing;
}

/** Reports each key press to `listener`; returns a function that unsubscribes. */
export function onKey(listener: KeyListener): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

// The listener captures events, because a part that stops the event must not hide the user's
// typing.
window.addEventListener(
  "keydown",
  (event) => {
    lastKeyAt = performance.now();
    if (event.key !== "Shift") isTabbing = event.key === "Tab";
    for (const tell of listeners) tell(lastKeyAt, event);
  },
  true,
);
window.addEventListener(
  "pointerdown",
  () => {
    isTabbing = false;
  },
  true,
);
