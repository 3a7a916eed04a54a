/** When a server that ended by itself is started again. Pure. */

/** Milliseconds in which `MOST` ends by itself mean that it stays down. */
export const WITHIN_MS = 3 * 60 * 1000;

/** Ends by itself within `WITHIN_MS` after which nothing is started by itself any more. */
export const MOST = 5;

const FIRST_WAIT_MS = 500;
const LONGEST_WAIT_MS = 8000;

/** When the server ended by itself, oldest first, in milliseconds. */
export type Crashes = readonly number[];

/** What follows from one more. */
export type AfterCrash =
  | {
      readonly kind: "again";
      readonly crashes: Crashes;
      readonly waitMs: number;
      readonly attempt: number;
    }
  | { readonly kind: "stay down"; readonly crashes: Crashes };

/** Counts the end at `now` and says what follows; the wait doubles from half a second to eight. */
export function afterCrash(earlier: Crashes, now: number): AfterCrash {
  const crashes = [...earlier.filter((at) => now - at < WITHIN_MS), now];
  if (crashes.length >= MOST) return { kind: "stay down", crashes };
  const waitMs = Math.min(FIRST_WAIT_MS * 2 ** (crashes.length - 1), LONGEST_WAIT_MS);
  return { kind: "again", crashes, waitMs, attempt: crashes.length };
}
