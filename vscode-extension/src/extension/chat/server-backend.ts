/** Implements the chat's backend with the one server of this window. */

import type { Commands, ServerRequests } from "../../protocol.ts";
import { t } from "../../shared/l10n.ts";
import type { Server } from "../server/server.ts";
import { type Backend, NotRunning, type Token } from "./backend.ts";

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
