/**
 * Converts the conversation to a flat list of rows, so that only visible rows are in the page.
 * Pure.
 */
import type { Part, Turn } from "../../shared/state.ts";

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
export function rowsOfTurn(turn: Turn): readonly Row[] {
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
export function estimate(row: Row): number {
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
