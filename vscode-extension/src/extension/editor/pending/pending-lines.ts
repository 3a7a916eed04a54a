/** Pending changes of one document as line ranges that move with the text. Pure. */
import type { ChangeRow } from "../../../protocol.ts";

/** One pending change; lines count from 0. */
export interface PendingLines {
  readonly id: string;
  readonly kind: ChangeRow["kind"];
  /**
   * The first of the change's new lines; if there are none, the line from which the change can be
   * reached.
   */
  readonly first: number;
  /** The number of the change's new lines. */
  readonly count: number;
  readonly old: string;
  readonly removed: number;
  readonly turn: number;
  readonly touched: boolean;
}

/** One replacement in a text, as the editor reports it; `added` is the number of line breaks in the new text. */
export interface LineChange {
  readonly first: number;
  readonly last: number;
  readonly lastCharacter: number;
  readonly added: number;
}

/** Converts a row of `indwell/changes` to lines. */
export function pendingLines(row: ChangeRow): PendingLines {
  return {
    id: row.id,
    kind: row.kind,
    first: row.range.start.line,
    count: countLines(row.new),
    old: row.old,
    removed: countLines(row.old),
    turn: row.turn,
    touched: row.touched,
  };
}

/** Returns the number of lines of a text; the last line may have no line end. */
export function countLines(text: string): number {
  if (text === "") return 0;
  const breaks = text.match(/\r\n|\r|\n/g)?.length ?? 0;
  return /[\r\n]$/.test(text) ? breaks : breaks + 1;
}

/** Returns the number of line breaks in a text. */
export function countBreaks(text: string): number {
  return text.match(/\r\n|\r|\n/g)?.length ?? 0;
}

/** Returns the changes after one replacement; changes whose lines were deleted are left out. */
export function moved(
  pending: readonly PendingLines[],
  change: LineChange,
): readonly PendingLines[] {
  const shifts = change.added - (change.last - change.first) !== 0;
  if (!shifts && pending.every((one) => !isSwallowed(one, change))) return pending;
  return pending.flatMap((one) => {
    const now = movedOne(one, change);
    return now === null ? [] : [now];
  });
}

function movedOne(one: PendingLines, change: LineChange): PendingLines | null {
  const by = change.added - (change.last - change.first);
  const isBefore =
    change.last < one.first || (change.last === one.first && change.lastCharacter === 0);
  if (isBefore) return by === 0 ? one : { ...one, first: one.first + by };
  if (one.count === 0) {
    return change.first < one.first ? { ...one, first: change.first + change.added } : one;
  }
  const end = one.first + one.count;
  if (change.first >= end) return one;
  if (change.first < one.first && change.last >= end) return null;
  const first = change.first < one.first ? change.first + change.added : one.first;
  const newEnd = change.last >= end ? change.first + 1 : end + by;
  return newEnd > first ? { ...one, first, count: newEnd - first } : null;
}

function isSwallowed(one: PendingLines, change: LineChange): boolean {
  return change.first < one.first && change.last >= one.first + one.count - 1;
}

/** The distance in lines within which the text of a change is searched. */
const FAR = 40;

/**
 * Corrects a change whose text is not at its row, because the row may belong to a slightly older
 * text. `lineAt` returns a line without its end, or undefined outside the text.
 */
export function settled(
  one: PendingLines,
  text: string,
  lineAt: (line: number) => string | undefined,
): PendingLines {
  if (one.count === 0 || one.kind !== "change") return one;
  const lines = text.split(/\r\n|\r|\n/).slice(0, one.count);
  for (let by = 0; by <= FAR; by += 1) {
    for (const first of by === 0 ? [one.first] : [one.first - by, one.first + by]) {
      if (first >= 0 && lines.every((line, index) => lineAt(first + index) === line)) {
        return first === one.first ? one : { ...one, first };
      }
    }
  }
  return one;
}
