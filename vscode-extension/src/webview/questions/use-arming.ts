/**
 * A hook that decides whether an answer to a question counts yet (`arming.ts`), and the time of the
 * last key anywhere in the panel, from one listener for all questions.
 */
import type { RefObject } from "preact";
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import {
  type Arming,
  armsIn,
  earlyWords,
  isTyping,
  keyPressed,
  lettersIn,
  shown,
} from "./arming.ts";

/** A listener; `at` is in milliseconds of `performance.now()`. */
type KeyListener = (at: number, event: KeyboardEvent) => void;

let lastKeyAt = 0;
let isTabbing = false;
const listeners = new Set<KeyListener>();

/**
 * Returns the time of the last key in milliseconds of `performance.now()`, or 0 if no key was
 * pressed.
 */
function lastKey(): number {
  return lastKeyAt;
}

/** Returns whether Tab was pressed last, without a pointer press since. */
function lastWasTab(): boolean {
  return isTabbing;
}

/** Reports each key press to `listener`; returns a function that unsubscribes. */
function onKey(listener: KeyListener): () => void {
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

/**
 * Starts again whenever `key` changes, for example for the second step of the same card. `card` is
 * the element with the answers, and `no` is its first answer.
 */
export function useArming(
  card: RefObject<HTMLElement | null>,
  key: string,
  no: RefObject<HTMLElement | null>,
): {
  readonly armed: boolean;
  /** Whether a click counts as an answer. */
  readonly isArmed: () => boolean;
  /** Whether the letter that is being pressed counts as an answer. */
  readonly lettersCount: () => boolean;
  /**
   * Returns whether text in the card's own field counts as an answer: at some time since the card
   * appeared, nobody typed for a moment.
   */
  readonly wasQuiet: () => boolean;
  /**
   * The message about a key or click that came too early, or empty if there was no such key or
   * click.
   */
  readonly early: string;
  /** Records that a key (its name) or a click (empty) came too early and was ignored. */
  readonly tooEarly: (key: string) => void;
} {
  const focusAt = useRef(performance.now());
  const letters = useRef(false);
  const arming = useRef<Arming>(shown(performance.now(), lastKey()));
  // The step whose answers count; after a change to another step, the answers must not count even
  // during one drawing.
  const [armedFor, setArmedFor] = useState<string | null>(null);
  const [early, setEarly] = useState({ step: key, words: "" });
  const quiet = useRef(false);
  useLayoutEffect(() => {
    let timer = 0;
    const wait = () => {
      window.clearTimeout(timer);
      const left = armsIn(arming.current, performance.now());
      setArmedFor(left === 0 ? key : null);
      if (left > 0) timer = window.setTimeout(wait, Math.ceil(left));
    };
    arming.current = shown(performance.now(), lastKey());
    quiet.current = false;
    wait();
    const off = onKey((at, { key: pressed, target }) => {
      quiet.current ||= armsIn(arming.current, at) === 0;
      const isInside = target instanceof Node && card.current?.contains(target) === true;
      letters.current = isInside && lettersIn(arming.current, focusAt.current, at) === 0;
      // Keys that move or press in an armed card do not delay it; letters do, and the card checks
      // the state from before.
      if (isInside && armsIn(arming.current, at) === 0 && !isTyping(pressed)) return;
      arming.current = keyPressed(arming.current, at);
      wait();
    });
    const entered = ({ relatedTarget }: FocusEvent) => {
      if (relatedTarget instanceof Node && card.current?.contains(relatedTarget) === true) return;
      focusAt.current = performance.now();
      // From both sides, the Tab key reaches No first.
      if (relatedTarget !== null && lastWasTab()) no.current?.focus();
    };
    const held = card.current;
    held?.addEventListener("focusin", entered);
    return () => {
      off();
      held?.removeEventListener("focusin", entered);
      window.clearTimeout(timer);
    };
  }, [key]);
  return {
    armed: armedFor === key,
    isArmed: () => armsIn(arming.current, performance.now()) === 0,
    lettersCount: () => letters.current,
    wasQuiet: () => quiet.current || armsIn(arming.current, performance.now()) === 0,
    early: early.step === key ? early.words : "",
    tooEarly: (pressed) => setEarly({ step: key, words: earlyWords(pressed) }),
  };
}
