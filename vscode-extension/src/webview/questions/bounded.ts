/** Keeps what is drawn of a text small, whatever its length; the middle is named by its number. Pure. */

/** The first and last lines of a text, and how many are not among them. */
export interface Bounded {
  readonly head: string;
  readonly left: number;
  readonly tail: string;
}

const HEAD_LINES = 1_500;
const TAIL_LINES = 300;
const MOST_CHARACTERS = 400_000; // of each half

/** All in `head` where it is short enough. */
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
