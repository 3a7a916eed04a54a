/** The arming of a question as a hook: whether an answer counts now. */
import type { RefObject } from "preact";
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { type Arming, armsIn, isTyping, keyPressed, lettersIn, shown } from "./arming.ts";
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
} {
  const focusAt = useRef(performance.now());
  const letters = useRef(false);
  const arming = useRef<Arming>(shown(performance.now(), lastKey()));
  // For which step: the one before it arms nothing, not even for the moment of a drawing.
  const [armedFor, setArmedFor] = useState<string | null>(null);
  useLayoutEffect(() => {
    let timer = 0;
    const wait = () => {
      window.clearTimeout(timer);
      const left = armsIn(arming.current, performance.now());
      setArmedFor(left === 0 ? key : null);
      if (left > 0) timer = window.setTimeout(wait, Math.ceil(left));
    };
    arming.current = shown(performance.now(), lastKey());
    wait();
    const off = onKey((at, { key: pressed, target }) => {
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
  };
}
