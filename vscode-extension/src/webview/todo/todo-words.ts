/** The one line of the list of what is to be done. Pure. */
import type { TodoRow } from "../../protocol.ts";

/** `3 of 5`, and what is being done now, or comes next; empty when all is done. */
export function todoWords(rows: readonly TodoRow[]): {
  readonly count: string;
  readonly now: string;
} {
  const done = rows.filter((row) => row.state === "done").length;
  const now = rows.find((row) => row.state === "doing") ?? rows.find((row) => row.state === "open");
  return { count: `${done} of ${rows.length}`, now: now?.text ?? "" };
}
