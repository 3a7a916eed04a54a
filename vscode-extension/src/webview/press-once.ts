/** Protects a button whose action must not start twice. */
import { useEffect, useRef, useState } from "preact/hooks";

/** Milliseconds after which the button may be pressed again without an outcome. */
const AGAIN_AFTER = 2000;

export interface PressOnce {
  /** Whether the button was pressed and has no outcome yet. */
  readonly pressed: boolean;
  /** Runs `act`, unless the button was already pressed. */
  readonly press: (act: () => void) => void;
}

/**
 * Accepts only one press until `seen` has another value (the outcome of the press changes it) or
 * two seconds have passed.
 */
export function usePressOnce(seen: unknown): PressOnce {
  const [pressed, setPressed] = useState(false);
  // A second click may come before the first click has changed the page.
  const isPressed = useRef(false);
  const before = useRef(seen);
  if (before.current !== seen) {
    before.current = seen;
    isPressed.current = false;
  }
  useEffect(() => {
    if (!pressed) return undefined;
    const release = () => {
      isPressed.current = false;
      setPressed(false);
    };
    if (!isPressed.current) {
      release();
      return undefined;
    }
    const timer = setTimeout(release, AGAIN_AFTER);
    return () => clearTimeout(timer);
  }, [pressed, seen]);
  const press = (act: () => void) => {
    if (isPressed.current) return;
    isPressed.current = true;
    setPressed(true);
    act();
  };
  return { pressed: pressed && isPressed.current, press };
}
