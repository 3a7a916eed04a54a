/** The chat's backend on the one server of this window. */
import type { Commands, ServerRequests } from "../../protocol.ts";
import type { Server } from "../server/server.ts";
import { type Backend, NotRunning, type Token } from "./backend.ts";

/** Background requests of the panel: they do not start a server that was stopped. */
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

/** A user's request starts the server if it does not run; background requests are then rejected. */
export function serverBackend(server: Pick<Server, "client" | "request" | "execute">): Backend {
  return {
    request: async <M extends keyof ServerRequests>(
      method: M,
      params: ServerRequests[M]["params"],
      token?: Token,
    ) => {
      if (BACKGROUND.has(method) && server.client === undefined)
        throw new NotRunning("The server does not run.");
      return server.request<ServerRequests[M]["result"]>(method, params, token);
    },
    execute: <C extends keyof Commands>(command: C, argument: Commands[C]["argument"]) =>
      argument === null
        ? server.execute<Commands[C]["result"]>(command)
        : server.execute<Commands[C]["result"]>(command, argument),
  };
}
