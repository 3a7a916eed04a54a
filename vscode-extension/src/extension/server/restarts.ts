/** Decides when a crashed server is started again. Pure. */

/** After `MOST` crashes within this many milliseconds, the server is not restarted. */
export const WITHIN_MS = 3 * 60 * 1000;

/** The number of crashes within `WITHIN_MS` after which the server is not restarted. */
export const MOST = 5;

const FIRST_WAIT_MS = 500;
const LONGEST_WAIT_MS = 8000;

/** The times of the crashes, oldest first, in milliseconds. */
export type Crashes = readonly number[];

/** The reaction to another crash. */
export type AfterCrash =
  | {
      readonly kind: "again";
      readonly crashes: Crashes;
      readonly waitMs: number;
      readonly attempt: number;
    }
  | { readonly kind: "stay down"; readonly crashes: Crashes };

/** Counts a crash at `now` and returns the reaction; the wait doubles from half a second to eight. */
export function afterCrash(earlier: Crashes, now: number): AfterCrash {
  const crashes = [...earlier.filter((at) => now - at < WITHIN_MS), now];
  if (crashes.length >= MOST) return { kind: "stay down", crashes };
  const waitMs = Math.min(FIRST_WAIT_MS * 2 ** (crashes.length - 1), LONGEST_WAIT_MS);
  return { kind: "again", crashes, waitMs, attempt: crashes.length };
}
