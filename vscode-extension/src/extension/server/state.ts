/** The server's state for every other part of the extension. */

/**
 * The state of the server, a closed union.
 *
 * - `off`: the server was not started in this window yet, or cannot be started here; `reason` says
 *   why it cannot, and may be empty.
 * - `starting`: the server is being found, installed or started; `step` is one sentence for the
 *   user.
 * - `running`: the server answers; `version` is the version that the server reports.
 * - `waiting`: the server ended by itself and will be started again at `at` (milliseconds since the
 *   epoch).
 * - `stopped`: the server runs again only when the user starts it; `reason` is one sentence for the
 *   user, and `crashed` is false if the user stopped the server.
 */
export type ServerState =
  | { readonly kind: "off"; readonly reason: string }
  | { readonly kind: "starting"; readonly step: string }
  | { readonly kind: "running"; readonly version: string }
  | { readonly kind: "waiting"; readonly at: number; readonly attempt: number }
  | { readonly kind: "stopped"; readonly reason: string; readonly crashed: boolean };
