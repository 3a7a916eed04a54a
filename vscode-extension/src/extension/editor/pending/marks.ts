/** Computes the marks for the pending changes of a document. Pure. */
import type { PendingLines } from "./pending-lines.ts";

/** A range of whole lines, both ends included, and the change that added them. */
export interface Run {
  readonly first: number;
  readonly last: number;
  readonly change: PendingLines;
}

/** A note at the end of a line about removed lines. */
export interface Ghost {
  readonly line: number;
  readonly words: string;
  readonly change: PendingLines;
  /** No lines replaced them: a thin line above shows where they were. */
  readonly bare: boolean;
}

export interface Marks {
  /** Lines with a bar and a mark in the overview ruler. */
  readonly bars: readonly Run[];
  /** The lines that also have a background. */
  readonly added: readonly Run[];
  readonly ghosts: readonly Ghost[];
}

/** More changes than this are not drawn one by one: they would be indistinguishable. */
export const MOST = 1_000;

/** The marks of a document of `lines` lines. */
export function marks(pending: readonly PendingLines[], lines: number): Marks {
  const bars: Run[] = [];
  const added: Run[] = [];
  const ghosts: Ghost[] = [];
  const last = Math.max(lines - 1, 0);
  for (const one of pending.slice(0, MOST)) {
    const first = Math.min(one.first, last);
    const end = Math.min(first + Math.max(one.count - 1, 0), last);
    const run: Run = { first, last: end, change: one };
    if (one.count > 0) bars.push(run);
    if (one.count > 0 && one.kind === "change") added.push(run);
    if (one.removed > 0) {
      const bare = one.count === 0;
      ghosts.push({ line: first, words: removedWords(one.removed), change: one, bare });
    }
  }
  return { bars, added, ghosts };
}

/** `− 1 line`, `− 3 lines`. */
export function removedWords(lines: number): string {
  return lines === 1 ? "− 1 line" : `− ${lines} lines`;
}
