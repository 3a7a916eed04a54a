/** Limits the drawn part of a long answer: a page of a million characters would be too slow. Pure. */

/** The number of characters that are drawn at first, and that each "Show the rest" adds. */
export const DRAWN_AT_ONCE = 300_000;

/**
 * Returns the end of the drawn part of a text, after a whole line, so that it stays the same while
 * the text grows.
 */
export function drawnEnd(text: string, most: number): number {
  if (text.length <= most) return text.length;
  const line = text.lastIndexOf("\n", most - 1) + 1;
  return line > most / 2 ? line : most;
}
