/**
 * Finds the pending changes in the diff of an edit, so that the buttons to accept or reject a
 * change are beside its lines. Pure.
 */
import type { ChangeRow } from "../../protocol.ts";
import { type DiffGroup, type ReadDiff, readChange, readDiff } from "./unified-diff.ts";

/** A diff to draw, with the pending change of each group, by the group's index. */
export interface JudgedDiff {
  readonly diff: ReadDiff;
  readonly verdicts: ReadonlyMap<number, string>;
}

/**
 * The maximum number of changes in one card that have their own buttons. If there are more, one
 * pair of buttons is for all changes, and the review shows each change.
 */
const MOST_ROWS = 50;

/**
 * Returns the edit's own diff with the pending change of each group. If later edits have moved
 * lines, so that a change is not found in the diff, the pending changes themselves are returned as
 * the diff.
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
