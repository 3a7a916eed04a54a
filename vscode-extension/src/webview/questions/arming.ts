/**
 * Delays answers to a question that appears while the user types.
 * Pure: times are milliseconds of one clock, passed by the caller.
 */

/** Milliseconds without a key, and since the question came, before an answer counts. */
export const ARMING_MS = 500;

/** The data for the delay. */
export interface Arming {
  readonly shownAt: number;
  /** Of the last key pressed anywhere in the panel; 0 if none was. */
  readonly keyAt: number;
}

/** A question appears now; keys that were pressed shortly before count too. */
export function shown(at: number, lastKeyAt: number): Arming {
  return { shownAt: at, keyAt: lastKeyAt };
}

/** A key was pressed somewhere in the panel. An answer's key, pressed too early, counts as well. */
export function keyPressed(arming: Arming, at: number): Arming {
  return { ...arming, keyAt: Math.max(arming.keyAt, at) };
}

/** Milliseconds until an answer counts; 0: it does. */
export function armsIn(arming: Arming, at: number): number {
  return Math.max(0, Math.max(arming.shownAt, arming.keyAt) + ARMING_MS - at);
}

/** Milliseconds until a letter counts as an answer: also not just after the focus came into the card. */
export function lettersIn(arming: Arming, focusAt: number, at: number): number {
  return Math.max(armsIn(arming, at), focusAt + ARMING_MS - at, 0);
}

/** The message about an answer that came too early; `key` is empty for a click. */
export function earlyWords(key: string): string {
  const what = key === "" ? "The click" : key;
  return `${what} came too early and answered nothing. ${key === "" ? "Click" : `Press ${key}`} again.`;
}

/** Keys that move or press, and so do not count as typing. */
const MOVES =
  /^(?:Tab|Enter| |Escape|Arrow.+|Page.+|Home|End|Shift|Control|Alt|AltGraph|Meta|CapsLock)$/;

/** Is a key, such as `x`, one for typing text? */
export function isTyping(key: string): boolean {
  return !MOVES.test(key);
}

/** May a question that just came take the focus? Never out of a field for text, even an empty one. */
export function mayTakeFocus(now: {
  /** The panel is where keys go. */
  readonly panelHasFocus: boolean;
  /** The focus is in a field for text. */
  readonly inText: boolean;
}): boolean {
  return now.panelHasFocus && !now.inText;
}
