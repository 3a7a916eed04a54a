/** The server's state for every other part of the extension. */

/**
 * A closed union.
 *
 * - `off`: not started yet in this window, or not possible here; `reason` says why (may be empty).
 * - `starting`: it is being found, installed or started; `step` is one sentence for the user.
 * - `running`: it answers; `version` is the version that it reports.
 * - `waiting`: it ended by itself and starts again at `at` (milliseconds since the epoch).
 * - `stopped`: it stays down until the user starts it; `reason` is one sentence for the user, and
 *   `crashed` is false if the user stopped it.
 */
export type ServerState =
  | { readonly kind: "off"; readonly reason: string }
  | { readonly kind: "starting"; readonly step: string }
  | { readonly kind: "running"; readonly version: string }
  | { readonly kind: "waiting"; readonly at: number; readonly attempt: number }
  | { readonly kind: "stopped"; readonly reason: string; readonly crashed: boolean };
