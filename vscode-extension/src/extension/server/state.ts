/** How the server stands, as every other part of the extension sees it. */

/**
 * A closed union.
 *
 * - `off`: nothing was started yet in this window, or it cannot be here; `reason` says why (may be empty).
 * - `starting`: it is being found, installed or started; `step` is one sentence for the user.
 * - `running`: it answers; `version` is its own word.
 * - `waiting`: it ended by itself and starts again at `at` (milliseconds since the epoch).
 * - `stopped`: it stays down until somebody starts it; `reason` is one sentence for the user, and
 *   `crashed` is false where the user stopped it.
 */
export type ServerState =
  | { readonly kind: "off"; readonly reason: string }
  | { readonly kind: "starting"; readonly step: string }
  | { readonly kind: "running"; readonly version: string }
  | { readonly kind: "waiting"; readonly at: number; readonly attempt: number }
  | { readonly kind: "stopped"; readonly reason: string; readonly crashed: boolean };
