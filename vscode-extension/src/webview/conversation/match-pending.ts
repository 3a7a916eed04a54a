/** Finds the pending changes in the diff of an edit, so that each verdict is shown beside its lines. Pure. */
import type { ChangeRow } from "../../protocol.ts";
import { type DiffGroup, type ReadDiff, readChange, readDiff } from "./unified-diff.ts";

/** A diff to draw, with the pending change of each group, by the group's index. */
export interface JudgedDiff {
  readonly diff: ReadDiff;
  readonly verdicts: ReadonlyMap<number, string>;
}

/**
 * The maximum number of changes of one card with their own verdicts; if there are more, one verdict covers all,
 * or the review shows each.
 */
const MOST_ROWS = 50;

/**
 * Returns the edit's own diff with a verdict at each pending change. If later edits have moved
 * lines, so that a change is missing in the diff, the pending changes themselves are returned.
 */
export function matchPending(diff: string, rows: readonly ChangeRow[]): readonly JudgedDiff[] {
  const read = readDiff(diff);
  const verdicts = new Map<number, string>();
  if (rows.length > MOST_ROWS) return [{ diff: read, verdicts }];
  for (const row of rows) {
    const index = read.groups.findIndex((group, at) => !verdicts.has(at) && isSame(group, row));
    if (index < 0) return rows.map(alone);
    verdicts.set(index, row.id);
  }
  return [{ diff: read, verdicts }];
}

function alone(row: ChangeRow): JudgedDiff {
  const diff = readChange(row.old, row.new, row.range.start.line + 1);
  const notes = row.note === "" ? diff.notes : [row.note, ...diff.notes];
  const last = diff.groups.length === 0 ? -1 : diff.groups.length - 1;
  return { diff: { ...diff, notes }, verdicts: new Map([[last, row.id]]) };
}

function isSame(group: DiffGroup, row: ChangeRow): boolean {
  if (!group.changed) return false;
  const side = (kind: "added" | "removed") =>
    group.lines
      .filter((line) => line.kind === kind)
      .map((line) => `${line.text}\n`)
      .join("");
  const ended = (text: string) => (text === "" || text.endsWith("\n") ? text : `${text}\n`);
  return side("removed") === ended(row.old) && side("added") === ended(row.new);
}
