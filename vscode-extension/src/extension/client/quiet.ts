/**
 * Debounces events as a value: events are handled when no event has come for a while. Uses no
 * clock.
 */

/** Times in milliseconds of one clock; null if no event waits. */
export interface Quiet {
  readonly first: number | null;
  readonly last: number;
}

/** The state before any event. */
export const CALM: Quiet = { first: null, last: 0 };

/** Returns the state after an event at `now`. */
export function disturbed(quiet: Quiet, now: number): Quiet {
  return { first: quiet.first ?? now, last: now };
}

/**
 * Returns the milliseconds from `now` until the events are due: `rest` after the last event, but at
 * most `most` after the first. 0 means now; null means that no event waits.
 */
export function due(quiet: Quiet, now: number, rest: number, most: number): number | null {
  if (quiet.first === null) return null;
  return Math.max(0, Math.min(quiet.last + rest, quiet.first + most) - now);
}
