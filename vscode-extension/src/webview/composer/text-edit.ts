/** Changes a text box so that the user can undo the changes. */

/** Longer insertions replace the text at once, because simulated typing is too slow. */
const LONGEST_TYPED = 20_000;

/** Replaces a range by `text` and puts the caret after the text. */
export function replaceRange(
  box: HTMLTextAreaElement,
  start: number,
  end: number,
  text: string,
): void {
  box.focus();
  box.setSelectionRange(start, end);
  // Only this call adds the change to the text box's undo stack; like a key, the call causes an
  // `input` event.
  if (text.length <= LONGEST_TYPED && typed(text)) return;
  box.setRangeText(text, start, end, "end");
  box.dispatchEvent(new Event("input", { bubbles: true }));
}

function typed(text: string): boolean {
  return text === ""
    ? document.execCommand("delete")
    : document.execCommand("insertText", false, text);
}
