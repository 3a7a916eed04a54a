/**
 * Converts the conversation to a flat list of rows, and computes their positions from measured or
 * estimated heights, so that only visible rows are in the page. No DOM; all heights in pixels.
 */
import type { Part, Turn } from "../../shared/state/state.ts";

/** One row; the row's key stays the same as long as the row shows the same part. */
export type Row =
  | { readonly kind: "prompt"; readonly key: string; readonly turn: Turn }
  | { readonly kind: "part"; readonly key: string; readonly turn: Turn; readonly part: Part }
  | { readonly kind: "end"; readonly key: string; readonly turn: Turn }
  | {
      readonly kind: "left";
      readonly key: string;
      readonly turns: readonly Turn[];
      readonly turn: Turn;
    };

export function turnKey(turn: Turn): string {
  return `${turn.session}/${turn.number}`;
}

/** Returns the rows of one turn. */
function rowsOfTurn(turn: Turn): readonly Row[] {
  const key = turnKey(turn);
  const rows: Row[] =
    turn.words === "" && turn.title === "" ? [] : [{ kind: "prompt", key: `${key}/prompt`, turn }];
  for (const part of turn.parts) rows.push({ kind: "part", key: `${key}/${part.key}`, turn, part });
  if (turn.ending !== "running") rows.push({ kind: "end", key: `${key}/end`, turn });
  return rows;
}

/** All rows; only rows from the first changed turn on are rebuilt. */
export class RowList {
  #turns: readonly Turn[] = [];
  #opened: ReadonlySet<string> | null = null;
  #rows: Row[] = [];
  #starts: number[] = [];

  get rows(): readonly Row[] {
    return this.#rows;
  }

  /**
   * Returns the index of the first row that may have changed; `opened` has the lines of discarded
   * turns that are open.
   */
  update(turns: readonly Turn[], opened: ReadonlySet<string>): number {
    const same = opened === this.#opened ? firstDifference(this.#turns, turns) : 0;
    // Adjacent turns that a rewind discarded share one row, so a discarded turn before the first
    // change may have to join.
    let from = same;
    while (from > 0 && turns[from - 1]?.left === true) from -= 1;
    const row = from < this.#starts.length ? (this.#starts[from] ?? 0) : this.#rows.length;
    this.#rows.length = row;
    this.#starts.length = from;
    for (let at = from; at < turns.length; at += 1) at = this.#push(turns, at, opened);
    this.#turns = turns;
    this.#opened = opened;
    return row;
  }

  /**
   * Adds the rows of a turn, or of several discarded turns; returns the index of the last of these
   * turns.
   */
  #push(turns: readonly Turn[], at: number, opened: ReadonlySet<string>): number {
    const turn = turns[at];
    if (turn === undefined) return at;
    this.#starts[at] = this.#rows.length;
    if (!turn.left) {
      this.#rows.push(...rowsOfTurn(turn));
      return at;
    }
    let end = at;
    while (turns[end + 1]?.left === true) {
      end += 1;
      this.#starts[end] = this.#rows.length;
    }
    const run = turns.slice(at, end + 1);
    const key = `${turnKey(turn)}/left`;
    this.#rows.push({ kind: "left", key, turn, turns: run });
    if (opened.has(key)) this.#rows.push(...run.flatMap(rowsOfTurn));
    return end;
  }
}

function firstDifference(old: readonly Turn[], fresh: readonly Turn[]): number {
  const most = Math.min(old.length, fresh.length);
  for (let at = 0; at < most; at += 1) if (old[at] !== fresh[at]) return at;
  return most;
}

/** Returns the estimated height of a row that was not measured yet, in pixels. */
function estimate(row: Row): number {
  switch (row.kind) {
    case "prompt":
      return 40 + 20 * Math.min(10, Math.ceil(row.turn.words.length / 60));
    case "end":
      return 32;
    case "left":
      return 28;
    case "part":
      return row.part.kind === "text" ? 12 + 20 * Math.ceil(row.part.text.length / 60) : 24;
    default:
      return row satisfies never;
  }
}

/** A range of rows from `first` to `last`, end exclusive. */
export interface Range {
  readonly first: number;
  readonly last: number;
}

/** Computes positions of rows from measured or estimated heights. No DOM. All in pixels. */
export class RowLayout {
  #rows: readonly Row[] = [];
  readonly #heights = new Map<string, number>();
  /**
   * The upper edges: `#tops[i]` is the top of row i, and one more entry is the end of the last row.
   * Entries up to index `#sure` are valid.
   */
  #tops = new Float64Array(64);
  #sure = 0;

  get count(): number {
    return this.#rows.length;
  }

  /** Sets new rows; the rows before `from` are unchanged. */
  setRows(rows: readonly Row[], from: number): void {
    this.#rows = rows;
    if (this.#tops.length < rows.length + 1) {
      const larger = new Float64Array(2 * (rows.length + 1));
      larger.set(this.#tops);
      this.#tops = larger;
    }
    this.#sure = Math.min(this.#sure, from);
    // Without this step, the heights of removed rows would be stored for ever.
    if (this.#heights.size > 2 * rows.length + 1000) this.#forget();
  }

  /** Stores a measured height of the row `index`; returns whether the height changed. */
  measure(index: number, height: number): boolean {
    const row = this.#rows[index];
    if (row === undefined || Math.abs((this.#heights.get(row.key) ?? -1) - height) < 0.1)
      return false;
    this.#heights.set(row.key, height);
    this.#sure = Math.min(this.#sure, index);
    return true;
  }

  row(index: number): Row | undefined {
    return this.#rows[index];
  }

  /**
   * Returns the index of a row by its key, searched around the row's last position, or -1 if the
   * row is gone.
   */
  indexOf(key: string, near: number): number {
    if (this.#rows[near]?.key === key) return near;
    return this.#rows.findIndex((row) => row.key === key);
  }

  top(index: number): number {
    this.#settle(index);
    return this.#tops[index] ?? 0;
  }

  get height(): number {
    return this.top(this.#rows.length);
  }

  /**
   * Returns the index of the row at the position `y`, or of the last row if `y` is below the end.
   */
  at(y: number): number {
    this.#settle(this.#rows.length);
    let low = 0;
    let high = Math.max(0, this.#rows.length - 1);
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if ((this.#tops[middle] ?? 0) <= y) low = middle;
      else high = middle - 1;
    }
    return low;
  }

  /** Return the rows between two heights. */
  range(from: number, to: number): Range {
    if (this.#rows.length === 0) return { first: 0, last: 0 };
    return { first: this.at(from), last: Math.min(this.#rows.length, this.at(to) + 1) };
  }

  #settle(upTo: number): void {
    for (let at = this.#sure; at < upTo; at += 1) {
      const row = this.#rows[at];
      const height = row === undefined ? 0 : (this.#heights.get(row.key) ?? estimate(row));
      this.#tops[at + 1] = (this.#tops[at] ?? 0) + height;
    }
    this.#sure = Math.max(this.#sure, upTo);
  }

  #forget(): void {
    const living = new Set(this.#rows.map((row) => row.key));
    for (const key of this.#heights.keys()) if (!living.has(key)) this.#heights.delete(key);
  }
}
