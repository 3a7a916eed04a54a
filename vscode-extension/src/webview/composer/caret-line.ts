/** Finds the visible line of the caret in a text box, counting wrapped lines. */

const COPIED = [
  "font",
  "letterSpacing",
  "wordSpacing",
  "tabSize",
  "textIndent",
  "wordBreak",
  "overflowWrap",
] as const;

/**
 * Returns whether the caret is on the first visible line and whether it is on the last; both are
 * false if text is selected.
 */
export function caretLines(box: HTMLTextAreaElement): {
  readonly first: boolean;
  readonly last: boolean;
} {
  const { value, selectionStart, selectionEnd } = box;
  if (selectionStart !== selectionEnd) return { first: false, last: false };
  // A text with explicit line breaks around the caret need not be measured.
  const before = value.lastIndexOf("\n", selectionStart - 1) === -1 || selectionStart === 0;
  const after = value.indexOf("\n", selectionStart) === -1;
  if (!before && !after) return { first: false, last: false };
  const tops = measured(box);
  return { first: before && tops.caret <= tops.start, last: after && tops.caret >= tops.end };
}

/**
 * Returns the heights of the lines of the first character, the caret and the end, in CSS pixels.
 */
function measured(box: HTMLTextAreaElement): { start: number; caret: number; end: number } {
  const mirror = document.createElement("div");
  const style = getComputedStyle(box);
  for (const name of COPIED) mirror.style[name] = style[name];
  mirror.style.position = "absolute";
  mirror.style.visibility = "hidden";
  mirror.style.whiteSpace = "pre-wrap";
  mirror.style.width = `${box.clientWidth - Number.parseFloat(style.paddingLeft) - Number.parseFloat(style.paddingRight)}px`;
  const marks = [0, box.selectionStart, box.value.length].map((place, index, all) => {
    mirror.append(box.value.slice(index === 0 ? 0 : (all[index - 1] ?? 0), place));
    const mark = document.createElement("span");
    mark.textContent = "\u200b";
    mirror.append(mark);
    return mark;
  });
  document.body.append(mirror);
  const tops = marks.map((mark) => mark.offsetTop);
  mirror.remove();
  return { start: tops[0] ?? 0, caret: tops[1] ?? 0, end: tops[2] ?? 0 };
}
