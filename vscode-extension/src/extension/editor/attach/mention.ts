/**
 * Names files and lines for the server, and for people. Pure; paths have `/` between their parts.
 */

/** A file, or lines of a file, to attach: `value` is for the server, `label` for the chip. */
export interface Mention {
  readonly value: string;
  readonly label: string;
}

/** Returns a path relative to the first folder, or the absolute path of a file elsewhere. */
export function mentionPath(path: string, firstFolder: string | null): string {
  if (firstFolder === null) return path;
  const root = firstFolder.endsWith("/") ? firstFolder : `${firstFolder}/`;
  return path.startsWith(root) ? path.slice(root.length) : path;
}

/**
 * Returns a mention of the lines `first` to `last`, counted from 0; a selection that ends at column
 * 0 of a line does not include that line.
 */
export function linesMention(
  path: string,
  first: number,
  last: number,
  lastCharacter: number,
): Mention {
  const end = last > first && lastCharacter === 0 ? last - 1 : last;
  const from = first + 1;
  const to = end + 1;
  const value = from === to ? `${path}#L${from}` : `${path}#L${from}-${to}`;
  // The label is the server's name of a selection, so that the panel recognises the same lines.
  return { value, label: `${path}:${from}-${to}` };
}

/** Returns the last part of a path. */
export function nameOf(path: string): string {
  return path.slice(path.lastIndexOf("/") + 1) || path;
}

/** The maximum number of characters of an attached text; the server refuses more. */
export const MOST_TEXT = 100_000;

/**
 * Cuts a text to the limit, and keeps the end, because the end of a terminal's output matters most.
 */
export function boundedText(text: string): string {
  if (text.length <= MOST_TEXT) return text;
  const note = "[the beginning was left out]\n";
  return note + text.slice(text.length - (MOST_TEXT - note.length));
}
