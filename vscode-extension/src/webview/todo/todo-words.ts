/** Formats the to-do list as text. Pure. */

import type { TodoRow } from "../../protocol.ts";
import { t } from "../../shared/l10n.ts";

/**
 * Returns `3 of 5` with the item that is being done or comes next, or an empty text if all items
 * are done.
 */
export function todoWords(rows: readonly TodoRow[]): {
  readonly count: string;
  readonly now: string;
} {
  const done = rows.filter((row) => row.state === "done").length;
  const now =
    rows.find((row) => row.state === "doing") ??
    rows.find((row) => row.state === "open" && waitsFor(row, rows) === "") ??
    rows.find((row) => row.state === "open");
  return { count: t("{0} of {1}", done, rows.length), now: now?.text ?? "" };
}

/**
 * Returns a text such as `waits for 1, 2`, with the unfinished items that must be done before this
 * item, or an empty text if there are none.
 */
export function waitsFor(row: TodoRow, rows: readonly TodoRow[]): string {
  if (row.state === "done") return "";
  const before = row.after.filter((number) => rows[number - 1]?.state !== "done");
  return before.length === 0 ? "" : t("waits for {0}", before.join(", "));
}
