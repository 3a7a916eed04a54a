/** The arming of a question as a hook: whether an answer counts now. */
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
import { lastKey, lastWasTab, onKey } from "./typing.ts";

/** Begins anew for each `key`, such as the second step of the same card. `card` holds the answers, `no` is the first. */
export function useArming(
  card: RefObject<HTMLElement | null>,
  key: string,
  no: RefObject<HTMLElement | null>,
): {
  readonly armed: boolean;
  /** For a click. */
  readonly isArmed: () => boolean;
  /** For the letter that is being pressed. */
  readonly lettersCount: () => boolean;
  /** For what was typed into the card's own field: nobody was typing for a moment since the card came. */
  readonly wasQuiet: () => boolean;
  /** What is said of the key or click that came too early; empty: none did. */
  readonly early: string;
  /** A key (its name) or a click (empty) came too early, and answered nothing. */
  readonly tooEarly: (key: string) => void;
} {
  const focusAt = useRef(performance.now());
  const letters = useRef(false);
  const arming = useRef<Arming>(shown(performance.now(), lastKey()));
  // For which step: the one before it arms nothing, not even for the moment of a drawing.
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
      // What moves or presses in an armed card does not put it off; letters do, and the card asks what was before.
      if (isInside && armsIn(arming.current, at) === 0 && !isTyping(pressed)) return;
      arming.current = keyPressed(arming.current, at);
      wait();
    });
    const entered = ({ relatedTarget }: FocusEvent) => {
      if (relatedTarget instanceof Node && card.current?.contains(relatedTarget) === true) return;
      focusAt.current = performance.now();
      // From both sides the Tab key comes to No first.
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
