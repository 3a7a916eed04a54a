/** The list of what is to be done, in words. Pure. */
import type { TodoRow } from "../../protocol.ts";

/** `3 of 5`, and what is being done now, or comes next; empty when all is done. */
export function todoWords(rows: readonly TodoRow[]): {
  readonly count: string;
  readonly now: string;
} {
  const done = rows.filter((row) => row.state === "done").length;
  const now =
    rows.find((row) => row.state === "doing") ??
    rows.find((row) => row.state === "open" && waitsFor(row, rows) === "") ??
    rows.find((row) => row.state === "open");
  return { count: `${done} of ${rows.length}`, now: now?.text ?? "" };
}

/** `waits for 1, 2`: what must be done before this row and is not; empty if nothing is. */
export function waitsFor(row: TodoRow, rows: readonly TodoRow[]): string {
  if (row.state === "done") return "";
  const before = row.after.filter((number) => rows[number - 1]?.state !== "done");
  return before.length === 0 ? "" : `waits for ${before.join(", ")}`;
}
