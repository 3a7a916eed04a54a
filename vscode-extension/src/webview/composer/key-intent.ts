/** Maps keys to actions of the composer. Pure. */

export interface KeyFacts {
  readonly key: string;
  readonly shift: boolean;
  /** Whether Control, or Command on a Mac, is pressed. */
  readonly control: boolean;
  readonly alt: boolean;
  /** Whether an input method uses the key, to confirm a candidate or to move among candidates. */
  readonly composing: boolean;
}

export interface Situation {
  readonly enterSends: boolean;
  readonly running: boolean;
  readonly listOpen: boolean;
  /** Whether the text box is empty. */
  readonly empty: boolean;
  readonly firstLine: boolean;
  readonly lastLine: boolean;
  /** Whether the caret is before the first character, without a selection. */
  readonly atStart: boolean;
}

/** The meaning of a key; `default` means that the text box handles the key. */
export type KeyIntent =
  | "default"
  | "send"
  | "sendNext"
  | "stop"
  | "closeList"
  | "choose"
  | "descend"
  | "nextRow"
  | "previousRow"
  | "older"
  | "newer"
  | "lastChip";

/**
 * Returns the meaning of one key. While an input method composes a character, every key is left to
 * the input method.
 */
export function keyIntent(key: KeyFacts, now: Situation): KeyIntent {
  if (key.composing || key.alt) return "default";
  if (now.listOpen) {
    const intent = listIntent(key);
    if (intent !== null) return intent;
  }
  switch (key.key) {
    case "Enter":
      return enterIntent(key, now);
    case "Escape":
      return now.running ? "stop" : "default";
    case "ArrowUp":
      return now.firstLine && bare(key) ? "older" : "default";
    case "ArrowDown":
      return now.lastLine && bare(key) ? "newer" : "default";
    case "Backspace":
      return now.atStart && bare(key) ? "lastChip" : "default";
    default:
      return "default";
  }
}

function listIntent(key: KeyFacts): KeyIntent | null {
  if (!bare(key)) return null;
  switch (key.key) {
    case "Enter":
      return "choose";
    case "Tab":
      return "descend";
    case "Escape":
      return "closeList";
    case "ArrowDown":
      return "nextRow";
    case "ArrowUp":
      return "previousRow";
    default:
      return null;
  }
}

function enterIntent(key: KeyFacts, now: Situation): KeyIntent {
  if (now.enterSends) {
    if (key.shift) return "default";
    return key.control ? "sendNext" : "send";
  }
  if (!key.control) return "default";
  return key.shift ? "sendNext" : "send";
}

function bare(key: KeyFacts): boolean {
  return !key.shift && !key.control;
}
