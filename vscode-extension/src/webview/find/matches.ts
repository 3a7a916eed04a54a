/** Finds rows of the conversation by their text, including rows that are not drawn. Pure. */
import { t } from "../../shared/l10n.ts";
import type { Row } from "../conversation/rows.ts";

/**
 * Returns the keys of all rows whose text contains the words, ignoring case; an empty list if there
 * are no words.
 */
export function matchingRows(rows: readonly Row[], words: string): readonly string[] {
  const wanted = words.toLowerCase();
  if (wanted === "") return [];
  return rows.flatMap((row) => (textOf(row).toLowerCase().includes(wanted) ? [row.key] : []));
}

/**
 * Returns the index of the match next to `current` (-1 means that no match is chosen yet), with
 * wrap-around.
 */
export function stepped(current: number, count: number, by: 1 | -1): number {
  if (count === 0) return -1;
  if (current < 0) return by === 1 ? 0 : count - 1;
  return (current + by + count) % count;
}

/**
 * Returns a text such as `2 of 5`; it also says whether turns that were not fetched may have more
 * matches.
 */
export function countWords(current: number, count: number, hasOlder: boolean): string {
  if (count === 0) return hasOlder ? t("No results in the turns shown") : t("No results");
  return hasOlder
    ? t("{0} of {1} in the turns shown", current + 1, count)
    : t("{0} of {1}", current + 1, count);
}

/** Returns the text of the row that a user sees. */
function textOf(row: Row): string {
  switch (row.kind) {
    case "prompt":
      return row.turn.words === "" ? row.turn.title : row.turn.words;
    case "end":
      return `${row.turn.message}\n${row.turn.verified}`;
    case "left":
      return "";
    case "part":
      return row.part.kind === "tool" ? `${row.part.target}\n${row.part.message}` : row.part.text;
    default:
      return row satisfies never;
  }
}
