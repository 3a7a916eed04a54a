/** Places the pending changes of a notebook in its cells. Pure. */
import type { PendingLines } from "./pending-lines.ts";

/** A part of a change in one cell. */
export interface InCell {
  readonly cell: number;
  readonly change: PendingLines;
}

/**
 * Places a change whose lines are those of the notebook as one text: for each cell, a heading line
 * and the cell's lines. `lines` are the numbers of lines of the cells. The removed text goes to the
 * first part.
 */
export function inCells(one: PendingLines, lines: readonly number[]): readonly InCell[] {
  const parts: InCell[] = [];
  const end = one.first + Math.max(one.count, 1);
  let start = 1;
  for (const [cell, size] of lines.entries()) {
    const from = Math.max(one.first, start);
    const to = Math.min(end, start + size);
    if (from < to) {
      const isFirst = parts.length === 0;
      const change: PendingLines = {
        ...one,
        kind: "change",
        first: from - start,
        count: one.count === 0 ? 0 : to - from,
        old: isFirst ? one.old : "",
        removed: isFirst ? one.removed : 0,
      };
      parts.push({ cell, change });
    }
    start += size + 1;
  }
  return parts;
}
