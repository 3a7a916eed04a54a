/**
 * Tracks how much of a question's text was on the screen; the buttons that allow a call work only
 * after the text's end was visible. Pure.
 */
import { number, plural } from "../../shared/l10n.ts";

/** The reading state; `folded` means that only the beginning and the last line are shown. */
export interface Reading {
  /** Whether the user has looked at the text; only then does a message about the end take space. */
  readonly looked: boolean;
  readonly folded: boolean;
  readonly seen: boolean;
}

/** The state before anything was drawn, in which nothing counts as seen. */
export const UNREAD: Reading = { looked: false, folded: true, seen: false };

const SHORT = 20; // A short line, in characters, is one like `fi` or `)`.

/**
 * Records whether the element after the text's end is on the screen now; once the end was visible,
 * it counts as seen.
 */
export function endShown(reading: Reading, isShown: boolean): Reading {
  if (reading.seen) return reading;
  return { ...reading, looked: true, seen: isShown };
}

/** Records that the user opened the whole text; the user must still scroll to its end. */
export function unfolded(reading: Reading): Reading {
  return { ...reading, folded: false };
}

/** Returns `12 lines, 2,345 characters`. */
export function lengthWords(text: string): string {
  const lines = text.split("\n").length;
  const characters = number([...text].length);
  return plural(lines, "{0} line, {1} characters", "{0} lines, {1} characters", characters);
}

/**
 * Returns the last line of a text that is not blank, together with the line before if the last line
 * is short; at most `most` characters.
 */
export function tail(text: string, most = 160): string {
  const last = text.trimEnd().split("\n").slice(-2);
  const lines = (last.at(-1) ?? "").length < SHORT ? last : last.slice(-1);
  const characters = [...lines.join("\n")];
  return characters.length <= most ? characters.join("") : `…${characters.slice(-most).join("")}`;
}
