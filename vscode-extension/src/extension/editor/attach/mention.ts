/** How files and lines are named to the server, and to people. Pure: `/` between the parts of a path. */

/** What to attach: `value` for the server, `label` for the chip. */
export interface Mention {
  readonly value: string;
  readonly label: string;
}

/** A path from the first folder, or the whole one where it is elsewhere. */
export function mentionPath(path: string, firstFolder: string | null): string {
  if (firstFolder === null) return path;
  const root = firstFolder.endsWith("/") ? firstFolder : `${firstFolder}/`;
  return path.startsWith(root) ? path.slice(root.length) : path;
}

/** Lines `first` to `last` of a file, counted from 0; a selection that ends at a line's start ends before it. */
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
  // As the server calls a selection: so the panel knows that both are the same lines.
  return { value, label: `${path}:${from}-${to}` };
}

/** The last part of a path. */
export function nameOf(path: string): string {
  return path.slice(path.lastIndexOf("/") + 1) || path;
}

/** Characters of a text that goes along; the server refuses more. */
export const MOST_TEXT = 100_000;

/** A text within the bound: of a long terminal output the end says most. */
export function boundedText(text: string): string {
  if (text.length <= MOST_TEXT) return text;
  const note = "[the beginning was left out]\n";
  return note + text.slice(text.length - (MOST_TEXT - note.length));
}
