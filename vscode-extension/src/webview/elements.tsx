/**
 * Small elements that all parts of the panel are drawn with: an icon, a sentence of the server, a
 * button whose action must not start twice, and components that are only drawn again when a prop
 * has another value.
 */
import { Component, type ComponentChild, type FunctionComponent } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { visible } from "../shared/visible.ts";

/** A codicon that screen readers ignore, because the label of its button or row says the same. */
export function Icon({ name, spin = false }: { readonly name: string; readonly spin?: boolean }) {
  return (
    <span
      class={`codicon codicon-${name}${spin ? " codicon-modifier-spin" : ""}`}
      aria-hidden="true"
    />
  );
}

/**
 * Returns a sentence: `the mode is x` becomes `The mode is x`; a quoted command name at the
 * beginning is unchanged.
 */
export function sentenceCase(text: string): string {
  return text.replace(/^\p{Ll}/u, (letter) => letter.toUpperCase());
}

/** Draws the text with backquoted words as code, and with hidden characters made visible. */
export function Coded({ text }: { readonly text: string }) {
  return (
    <>
      {visible(text)
        .split(/`([^`]+)`/)
        .map((part, index) => (index % 2 === 0 ? part : <code key={`${index}`}>{part}</code>))}
    </>
  );
}

/** Milliseconds after which the button may be pressed again without an outcome. */
const AGAIN_AFTER = 2000;

interface PressOnce {
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

function sameProps(left: object, right: object): boolean {
  const leftEntries = Object.entries(left);
  const rightEntries = new Map<string, unknown>(Object.entries(right));
  return (
    leftEntries.length === rightEntries.size &&
    leftEntries.every(([key, value]) => Object.is(rightEntries.get(key), value))
  );
}

/** Returns the same view, which is skipped while its props are the same one level deep. */
export function memo<P extends object>(view: (props: P) => ComponentChild): FunctionComponent<P> {
  const View: FunctionComponent<P> = view;
  class Remembered extends Component<P> {
    override shouldComponentUpdate(next: P): boolean {
      return !sameProps(this.props, next);
    }
    override render(props: P): ComponentChild {
      return <View {...props} />;
    }
  }
  return (props: P) => <Remembered {...props} />;
}
