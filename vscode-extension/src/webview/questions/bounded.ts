/** Limits the drawn part of a text of any length; the number of omitted lines is shown. Pure. */

/** The first and last lines of a text, and the number of lines between them that are left out. */
export interface Bounded {
  readonly head: string;
  readonly left: number;
  readonly tail: string;
}

const HEAD_LINES = 1_500;
const TAIL_LINES = 300;
const MOST_CHARACTERS = 400_000; // The limit is for each half.

/** Returns the first and the last lines; a short text is completely in `head`. */
export function bounded(text: string): Bounded {
  const lines = text.split("\n");
  const fits = lines.length <= HEAD_LINES + TAIL_LINES && text.length <= MOST_CHARACTERS;
  if (fits) return { head: text, left: 0, tail: "" };
  const head = lines.slice(0, HEAD_LINES);
  const tail = lines.slice(Math.max(HEAD_LINES, lines.length - TAIL_LINES));
  return {
    head: head.join("\n").slice(0, MOST_CHARACTERS),
    left: Math.max(lines.length - head.length - tail.length, 1),
    tail: tail.join("\n").slice(-MOST_CHARACTERS),
  };
}
