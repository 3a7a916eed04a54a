/** Converts the server's state to the form that the panel shows. Pure. */
import { t } from "../../shared/l10n.ts";
import type { Connection } from "../../shared/state.ts";
import type { ServerState } from "../server/state.ts";

/**
 * A `running` server is not enough: the panel is ready only after it has requested the server's
 * state.
 */
export function connectionOf(state: ServerState, now: number): Connection | null {
  switch (state.kind) {
    case "off":
      return state.reason === ""
        ? { kind: "starting", reason: "" }
        : { kind: "stopped", reason: state.reason, byUser: true };
    case "starting":
      return { kind: "starting", reason: state.step };
    case "running":
      return null;
    case "waiting": {
      const seconds = Math.max(0, Math.ceil((state.at - now) / 1000));
      return {
        kind: "restarting",
        reason: t("The server stopped; it starts again in {0} s.", seconds),
      };
    }
    case "stopped":
      return { kind: "stopped", reason: state.reason, byUser: !state.crashed };
    default:
      return state satisfies never;
  }
}
