/** Whether and how a question takes the focus. */
import { mayTakeFocus } from "./arming.ts";

/** Focus `target` unless a field for text has the focus, or another part of the editor. */
export function offerFocus(target: HTMLElement | null): void {
  const active = document.activeElement;
  const inText =
    active instanceof HTMLTextAreaElement ||
    (active instanceof HTMLInputElement && active.type !== "checkbox") ||
    (active instanceof HTMLElement && active.isContentEditable);
  if (mayTakeFocus({ panelHasFocus: document.hasFocus(), inText })) target?.focus();
}

/** Whether the focus is nowhere, as after a card that had it is gone. */
export function focusIsLost(): boolean {
  return document.activeElement === null || document.activeElement === document.body;
}
