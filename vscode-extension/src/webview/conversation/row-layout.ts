/** Computes positions of rows from measured or estimated heights. No DOM. All in pixels. */
import { estimate, type Row } from "./rows.ts";

/** A range of rows from `first` to `last`, end exclusive. */
export interface Range {
  readonly first: number;
  readonly last: number;
}

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
