/** Groups pending changes by file. Pure. */

import type { ChangeRow } from "../../protocol.ts";
import { t } from "../../shared/l10n.ts";

/** One file with its pending changes. */
export interface PendingFile {
  readonly path: string;
  readonly ids: readonly string[];
  readonly added: number;
  readonly removed: number;
  /**
   * A note such as `new` or `deleted`, or the description of a change that cannot be shown as text;
   * empty for ordinary changes.
   */
  readonly note: string;
}

/** Returns the files in the order of their paths. */
export function pendingFiles(rows: readonly ChangeRow[]): readonly PendingFile[] {
  const files = new Map<string, ChangeRow[]>();
  for (const row of rows) {
    const known = files.get(row.path);
    if (known === undefined) files.set(row.path, [row]);
    else known.push(row);
  }
  return [...files]
    .sort(([one], [other]) => (one < other ? -1 : 1))
    .map(([path, changes]) => ({
      path,
      ids: changes.map((change) => change.id),
      added: changes.reduce((sum, change) => sum + lines(change.new), 0),
      removed: changes.reduce((sum, change) => sum + lines(change.old), 0),
      note: changes.map(noteOf).find((note) => note !== "") ?? "",
    }));
}

function lines(text: string): number {
  if (text === "") return 0;
  return text.split("\n").length - (text.endsWith("\n") ? 1 : 0);
}

function noteOf(change: ChangeRow): string {
  switch (change.kind) {
    case "create":
      return t("new");
    case "delete":
      return t("deleted");
    case "opaque":
      return change.note;
    case "change":
      return "";
    default:
      return change.kind satisfies never;
  }
}
