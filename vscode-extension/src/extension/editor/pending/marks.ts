/** Computes the marks for the pending changes of a document. Pure. */
import { plural } from "../../../shared/l10n.ts";
import { pairLines } from "../../../shared/word-diff.ts";
import type { PendingLines } from "./pending-lines.ts";

/** A range of whole lines, both ends included, and the change that added them. */
export interface Run {
  readonly first: number;
  readonly last: number;
  readonly change: PendingLines;
}

/** A part of a line; `to` is exclusive. */
export interface Part {
  readonly line: number;
  readonly from: number;
  readonly to: number;
}

/** Removed words, and their former position in a line. */
export interface LostText {
  readonly line: number;
  readonly at: number;
  readonly text: string;
}

/** A removed line, shown at the end of another line; `more` counts removed lines without a row. */
export interface Ghost {
  readonly line: number;
  readonly text: string;
  readonly more: number;
}

/** The marks of all changes of a document. */
export interface Marks {
  /** Lines with a bar and a mark in the overview ruler. */
  readonly bars: readonly Run[];
  /** The lines that also have a background. */
  readonly added: readonly Run[];
  /** Changes that only removed lines; a thin line shows where the lines were. */
  readonly gaps: readonly Run[];
}

/** The marks within the lines of one change. */
export interface Details {
  readonly words: readonly Part[];
  readonly lost: readonly LostText[];
  readonly ghosts: readonly Ghost[];
}

/** The maximum number of changes that are drawn one by one; a reader could not tell more apart. */
export const MOST = 1_000;

/**
 * If a line lost more characters than this, it shows the whole old line at its end, because marks
 * would be unreadable.
 */
const MOST_LOST = 60;
const MOST_CUTS = 3;

/** Returns the marks of a document of `lines` lines. */
export function marks(pending: readonly PendingLines[], lines: number): Marks {
  const bars: Run[] = [];
  const added: Run[] = [];
  const gaps: Run[] = [];
  const last = Math.max(lines - 1, 0);
  for (const one of pending.slice(0, MOST)) {
    const first = Math.min(one.first, last);
    const end = Math.min(first + Math.max(one.count - 1, 0), last);
    const run: Run = { first, last: end, change: one };
    if (one.count === 0) gaps.push(run);
    else bars.push(run);
    if (one.count > 0 && one.kind === "change") added.push(run);
  }
  return { bars, added, gaps };
}

/** Returns the marks of the words and removed lines of one change, whose lines are now `fresh`. */
export function details({ first, change }: Run, fresh: readonly string[]): Details {
  if (change.kind !== "change" || change.old === "") return { words: [], lost: [], ghosts: [] };
  const old = change.old.split(/\r\n|\r|\n/);
  if (old.at(-1) === "") old.pop();
  const own = change.count === 0 ? [] : fresh;
  const words: Part[] = [];
  const lost: LostText[] = [];
  const inPlace = new Set<number>();
  const above = new Map<number, number>();
  for (const pair of pairLines(old, own)) {
    const line = first + pair.fresh;
    above.set(pair.old, pair.fresh);
    words.push(...pair.added.map(({ from, to }) => ({ line, from, to })));
    const size = pair.removed.reduce((sum, one) => sum + one.to - one.from, 0);
    if (size > MOST_LOST || pair.removed.length > MOST_CUTS) continue;
    inPlace.add(pair.old);
    const text = old[pair.old] ?? "";
    lost.push(
      ...pair.removed.map(({ from, to, at }) => ({ line, at, text: text.slice(from, to) })),
    );
  }
  return { words, lost, ghosts: ghosts(old, first, Math.max(own.length, 1), inPlace, above) };
}

/**
 * Returns a row for each removed line that is not marked in place: the pair's own row, or the next
 * free row.
 */
function ghosts(
  old: readonly string[],
  first: number,
  rows: number,
  inPlace: ReadonlySet<number>,
  pairs: ReadonlyMap<number, number>,
): readonly Ghost[] {
  const texts = new Map<number, string>();
  let row = 0;
  let more = 0;
  for (const [index, text] of old.entries()) {
    const own = pairs.get(index);
    const isInPlace = inPlace.has(index);
    // After a line that is marked in place, the next removed line reads best one row lower.
    if (own !== undefined) row = Math.max(row, isInPlace ? Math.min(own + 1, rows - 1) : own);
    if (!isInPlace && text.trim() !== "") {
      if (row < rows) texts.set(row, text);
      else more += 1;
      row += 1;
    }
  }
  const found = [...texts].map(([at, text]) => ({ line: first + at, text, more: 0 }));
  const end = found.pop();
  if (end !== undefined) return [...found, { ...end, more }];
  return more === 0 ? [] : [{ line: first + rows - 1, text: "", more }];
}

/** Returns `1 removed line` or `3 removed lines`. */
export function removedWords(lines: number): string {
  return plural(lines, "{0} removed line", "{0} removed lines");
}
