/** Decides whether and how a question takes the focus. */
import { mayTakeFocus } from "./arming.ts";

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
