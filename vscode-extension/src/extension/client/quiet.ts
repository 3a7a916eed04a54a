/** Waiting for quiet as a value: what came is dealt with when nothing has come for a while. Knows no clock. */

/** Times in milliseconds of one clock; null: nothing waits. */
export interface Quiet {
  readonly first: number | null;
  readonly last: number;
}

/** Nothing has come. */
export const CALM: Quiet = { first: null, last: 0 };

/** Something came at `now`. */
export function disturbed(quiet: Quiet, now: number): Quiet {
  return { first: quiet.first ?? now, last: now };
}

/**
 * Milliseconds from `now` until it is time: `rest` after the last disturbance, but no later than `most`
 * after the first. 0: now. Null: nothing waits.
 */
export function due(quiet: Quiet, now: number, rest: number, most: number): number | null {
  if (quiet.first === null) return null;
  return Math.max(0, Math.min(quiet.last + rest, quiet.first + most) - now);
}
