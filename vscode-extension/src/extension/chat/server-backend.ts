/**
 * Implements the chat's backend with the one server of this window, and converts the server's state
 * to the form that the panel shows.
 */
import type { Commands, ServerRequests } from "../../protocol.ts";
import { t } from "../../shared/l10n.ts";
import type { Connection } from "../../shared/state/state.ts";
import type { Server } from "../server/server.ts";
import type { ServerState } from "../server/state.ts";
import { type Backend, NotRunning, type Token } from "./backend.ts";

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

/** Background requests of the panel, which do not start a stopped server. */
const BACKGROUND: ReadonlySet<keyof ServerRequests> = new Set([
  "indwell/changes",
  "indwell/commands",
  "indwell/context",
  "indwell/detach",
  "indwell/events",
  "indwell/mcp",
  "indwell/models",
  "indwell/queue",
  "indwell/session",
  "indwell/skills",
  "indwell/status",
]);

/**
 * Creates the backend: a user's request starts the server if it does not run; background requests
 * are rejected instead.
 */
export function serverBackend(server: Pick<Server, "client" | "request" | "execute">): Backend {
  return {
    request: async <M extends keyof ServerRequests>(
      method: M,
      params: ServerRequests[M]["params"],
      token?: Token,
    ) => {
      if (BACKGROUND.has(method) && server.client === undefined)
        throw new NotRunning(t("The server does not run."));
      return server.request<ServerRequests[M]["result"]>(method, params, token);
    },
    execute: <C extends keyof Commands>(command: C, argument: Commands[C]["argument"]) =>
      argument === null
        ? server.execute<Commands[C]["result"]>(command)
        : server.execute<Commands[C]["result"]>(command, argument),
  };
}
