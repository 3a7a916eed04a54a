/**
 * Decides whether an answer to a question counts yet, and whether a question takes the focus: an
 * answer is delayed if its question appears while the user types. Pure, except for the focus: times
 * are milliseconds of one clock, passed by the caller.
 */
import { t } from "../../shared/l10n.ts";

/**
 * An answer counts only after this many milliseconds without a key, and this long after the
 * question appeared.
 */
export const ARMING_MS = 500;

/** The data for the delay. */
export interface Arming {
  readonly shownAt: number;
  /** The time of the last key pressed anywhere in the panel, or 0 if no key was pressed. */
  readonly keyAt: number;
}

/**
 * Returns the data for a question that appears now; keys that were pressed shortly before also
 * delay answers.
 */
export function shown(at: number, lastKeyAt: number): Arming {
  return { shownAt: at, keyAt: lastKeyAt };
}

/**
 * Records a key pressed anywhere in the panel. An answer's key that is pressed too early counts as
 * well.
 */
export function keyPressed(arming: Arming, at: number): Arming {
  return { ...arming, keyAt: Math.max(arming.keyAt, at) };
}

/** Returns the milliseconds until an answer counts, or 0 if an answer counts now. */
export function armsIn(arming: Arming, at: number): number {
  return Math.max(0, Math.max(arming.shownAt, arming.keyAt) + ARMING_MS - at);
}

/**
 * Returns the milliseconds until a letter counts as an answer; a letter does not count right after
 * the card got the focus.
 */
export function lettersIn(arming: Arming, focusAt: number, at: number): number {
  return Math.max(armsIn(arming, at), focusAt + ARMING_MS - at, 0);
}

/** Returns the message about an answer that came too early; `key` is empty for a click. */
export function earlyWords(key: string): string {
  return key === ""
    ? t("The click came too early and answered nothing. Click again.")
    : t("{0} came too early and answered nothing. Press {0} again.", key);
}

/** Keys that move or press, and therefore do not count as typing. */
const MOVES =
  /^(?:Tab|Enter| |Escape|Arrow.+|Page.+|Home|End|Shift|Control|Alt|AltGraph|Meta|CapsLock)$/;

/** Returns whether a key, such as `x`, is for typing text. */
export function isTyping(key: string): boolean {
  return !MOVES.test(key);
}

/**
 * Returns whether a new question may take the focus; a text field never loses the focus to a
 * question, even if it is empty.
 */
export function mayTakeFocus(now: {
  /** Whether the panel receives keys. */
  readonly panelHasFocus: boolean;
  /** Whether the focus is in a text field. */
  readonly inText: boolean;
}): boolean {
  return now.panelHasFocus && !now.inText;
}

/** Focuses `target` unless a text field or another part of the editor has the focus. */
export function offerFocus(target: HTMLElement | null): void {
  const active = document.activeElement;
  const inText =
    active instanceof HTMLTextAreaElement ||
    (active instanceof HTMLInputElement && active.type !== "checkbox") ||
    (active instanceof HTMLElement && active.isContentEditable);
  if (mayTakeFocus({ panelHasFocus: document.hasFocus(), inText })) target?.focus();
}

/** Returns whether nothing has the focus, for example because the focused card was removed. */
export function focusIsLost(): boolean {
  return document.activeElement === null || document.activeElement === document.body;
}
