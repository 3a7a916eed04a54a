/** How much of a question's text was seen. An allow button works only when its end was. Pure. */

/** `folded`: only the beginning shows, and its last line. */
export interface Reading {
  /** Whether anybody has looked yet: only then words about the end take room of the text. */
  readonly looked: boolean;
  readonly folded: boolean;
  readonly seen: boolean;
}

/** Before anything was drawn: nothing counts as seen. */
export const UNREAD: Reading = { looked: false, folded: true, seen: false };

const SHORT = 20; // characters: such as `fi` or `)`

/** Whether the mark behind the text's end is on the screen now. What was seen stays seen. */
export function endShown(reading: Reading, isShown: boolean): Reading {
  if (reading.seen) return reading;
  return { ...reading, looked: true, seen: isShown };
}

/** The user opened the text; it still has to be scrolled to its end. */
export function unfolded(reading: Reading): Reading {
  return { ...reading, folded: false };
}

/** `12 lines, 2,345 characters`. */
export function lengthWords(text: string): string {
  const lines = text.split("\n").length;
  const number = (n: number) => n.toLocaleString("en");
  return `${number(lines)} ${lines === 1 ? "line" : "lines"}, ${number([...text].length)} characters`;
}

/** The last line of a text that shows something, with the one before where it is short; at most `most` characters. */
export function tail(text: string, most = 160): string {
  const last = text.trimEnd().split("\n").slice(-2);
  const lines = (last.at(-1) ?? "").length < SHORT ? last : last.slice(-1);
  const characters = [...lines.join("\n")];
  return characters.length <= most ? characters.join("") : `…${characters.slice(-most).join("")}`;
}
