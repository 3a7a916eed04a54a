/**
 * Compares changed lines word by word: which lines belong together, and which of their words
 * differ. Pure.
 */

/** A part of a line, in UTF-16 units; `to` is exclusive. */
export interface Span {
  readonly from: number;
  readonly to: number;
}

/**
 * Words that a line lost: their position in the old line, and the position in the new line where
 * they would be.
 */
export interface LostWords extends Span {
  readonly at: number;
}

/** The indexes of an old and a new line that are nearly the same. */
export interface LinePair {
  readonly old: number;
  readonly fresh: number;
  readonly removed: readonly LostWords[];
  readonly added: readonly Span[];
}

/**
 * Above these numbers of lines and words nothing is compared, because the time grows with the
 * product of both sides.
 */
const MOST_LINES = 100;
const MOST_WORDS = 400;
const MOST_CHARACTERS = 2_000;

/** Two lines are a pair if at least this share of their text is equal. */
const ALIKE = 0.5;

/** Words, blanks, and signs with their combining marks. */
const WORD = /[\p{L}\p{M}\p{N}_]+|\s+|[^\p{L}\p{M}\p{N}_\s]\p{M}*/gu;

/**
 * Pairs old lines with new lines, in order; lines without a pair were added or removed as a whole.
 */
export function pairLines(old: readonly string[], fresh: readonly string[]): readonly LinePair[] {
  if (old.length === 0 || fresh.length === 0) return [];
  if (old.length > MOST_LINES || fresh.length > MOST_LINES) return [];
  const before = old.map(wordsOf);
  const after = fresh.map(wordsOf);
  const alike = before.map((one) => after.map((other) => likeness(one, other)));
  return best(alike).flatMap(([i, j]) => {
    const one = before[i];
    const other = after[j];
    return one && other ? [{ old: i, fresh: j, ...wordDiff(one, other) }] : [];
  });
}

/** The words of a line after its indentation, which is not compared. */
interface Words {
  readonly start: number;
  readonly list: readonly string[];
  readonly counts: ReadonlyMap<string, number>;
  /** The number of characters that are not blanks. */
  readonly ink: number;
}

function wordsOf(text: string): Words {
  const start = text.length - text.trimStart().length;
  const list = text.length > MOST_CHARACTERS ? [] : (text.slice(start).match(WORD) ?? []);
  const counts = new Map<string, number>();
  let ink = 0;
  for (const word of list) {
    if (isBlank(word)) continue;
    counts.set(word, (counts.get(word) ?? 0) + 1);
    ink += word.length;
  }
  return { start, list, counts, ink };
}

function isBlank(word: string): boolean {
  return word.trim() === "";
}

/**
 * Returns how much of the longer line is also in the other line, in any order: a number from 0 to
 * 1.
 */
function likeness(one: Words, other: Words): number {
  const longer = Math.max(one.ink, other.ink);
  if (longer === 0 || one.list.length > MOST_WORDS || other.list.length > MOST_WORDS) return 0;
  let shared = 0;
  for (const [word, count] of one.counts) {
    shared += word.length * Math.min(count, other.counts.get(word) ?? 0);
  }
  return shared / longer;
}

/** Returns the pairs in order with the greatest sum of likeness. */
function best(alike: readonly (readonly number[])[]): readonly (readonly [number, number])[] {
  const height = alike.length;
  const width = alike[0]?.length ?? 0;
  const sum = Array.from({ length: height + 1 }, () => new Float64Array(width + 1));
  const at = (i: number, j: number): number => sum[i]?.[j] ?? 0;
  const gain = (i: number, j: number): number => {
    const value = alike[i]?.[j] ?? 0;
    return value < ALIKE ? 0 : value;
  };
  for (let i = height - 1; i >= 0; i -= 1) {
    const row = sum[i];
    for (let j = width - 1; j >= 0 && row; j -= 1) {
      const paired = gain(i, j) === 0 ? 0 : gain(i, j) + at(i + 1, j + 1);
      row[j] = Math.max(paired, at(i + 1, j), at(i, j + 1));
    }
  }
  const found: (readonly [number, number])[] = [];
  for (let i = 0, j = 0; i < height && j < width; ) {
    if (gain(i, j) > 0 && at(i, j) === gain(i, j) + at(i + 1, j + 1)) {
      found.push([i, j]);
      i += 1;
      j += 1;
    } else if (at(i, j) === at(i + 1, j)) i += 1;
    else j += 1;
  }
  return found;
}

/** Returns the words of one line that the other line lacks. */
function wordDiff(
  one: Words,
  other: Words,
): { readonly removed: readonly LostWords[]; readonly added: readonly Span[] } {
  const steps = kept(one.list, other.list);
  const removed: LostWords[] = [];
  const added: Span[] = [];
  let i = 0;
  let j = 0;
  let left = one.start;
  let right = other.start;
  for (const [untilOld, untilFresh, same] of steps) {
    const [from, at] = [left, right];
    for (; i < untilOld; i += 1) left += one.list[i]?.length ?? 0;
    for (; j < untilFresh; j += 1) right += other.list[j]?.length ?? 0;
    if (left > from) removed.push({ from, to: left, at });
    if (right > at) added.push({ from: at, to: right });
    for (let n = 0; n < same; n += 1, i += 1, j += 1) {
      left += one.list[i]?.length ?? 0;
      right += other.list[j]?.length ?? 0;
    }
  }
  return { removed, added };
}

/**
 * Returns runs of equal words, each with its position in both lists; the last run is empty and
 * marks the ends of both lists. Blanks between two changes belong to the changes, so that a
 * highlight is continuous.
 */
function kept(
  old: readonly string[],
  fresh: readonly string[],
): readonly (readonly [number, number, number])[] {
  const width = fresh.length + 1;
  const length = new Uint16Array((old.length + 1) * width);
  const at = (i: number, j: number): number => length[i * width + j] ?? 0;
  for (let i = old.length - 1; i >= 0; i -= 1) {
    for (let j = fresh.length - 1; j >= 0; j -= 1) {
      length[i * width + j] =
        old[i] === fresh[j] ? at(i + 1, j + 1) + 1 : Math.max(at(i + 1, j), at(i, j + 1));
    }
  }
  const runs: [number, number, number][] = [];
  for (let i = 0, j = 0; i < old.length && j < fresh.length; ) {
    if (old[i] === fresh[j]) {
      const last = runs.at(-1);
      if (last && last[0] + last[2] === i && last[1] + last[2] === j) last[2] += 1;
      else runs.push([i, j, 1]);
      i += 1;
      j += 1;
    } else if (at(i + 1, j) >= at(i, j + 1)) i += 1;
    else j += 1;
  }
  const solid = runs.filter(
    ([i, j, same]) =>
      i === 0 ||
      i + same === old.length ||
      j === 0 ||
      j + same === fresh.length ||
      !isBlank(old.slice(i, i + same).join("")),
  );
  return [...solid, [old.length, fresh.length, 0]];
}
