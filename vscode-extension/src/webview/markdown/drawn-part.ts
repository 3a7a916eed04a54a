/** Limits the drawn part of a long answer: a page of a million characters would be too slow. Pure. */

/** The number of characters that are drawn at first; each "Show the rest" adds the same number. */
export const DRAWN_AT_ONCE = 300_000;

/**
 * Returns the end of the drawn part of a text. The part ends after a whole line, so that its end
 * does not change while the text grows.
 */
export function drawnEnd(text: string, most: number): number {
  if (text.length <= most) return text.length;
  const line = text.lastIndexOf("\n", most - 1) + 1;
  return line > most / 2 ? line : most;
}
