/** When a key was last pressed anywhere in the panel; one listener for all questions. */

/** `at` in milliseconds of `performance.now()`. */
export type KeyListener = (at: number, event: KeyboardEvent) => void;

let lastKeyAt = 0;
let isTabbing = false;
const listeners = new Set<KeyListener>();

/** Milliseconds of `performance.now()`; 0 if none was pressed yet. */
export function lastKey(): number {
  return lastKeyAt;
}

/** Was the Tab key the last thing pressed, and no pointer since? */
export function lastWasTab(): boolean {
  return isTabbing;
}

/** Tell each key press; returns how to stop. */
export function onKey(listener: KeyListener): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

// Capturing: a part that stops the event must not hide that somebody types.
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
