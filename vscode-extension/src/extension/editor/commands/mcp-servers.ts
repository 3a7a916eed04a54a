/** Shows the MCP servers of the workspace as a page of the panel. */
import type { Server } from "../../server/server.ts";
import type { ChatLink } from "../chat-link.ts";
import { argumentOf, type Handler, stringIn } from "./run.ts";

/**
 * The handler of the page; with an `action`, the handler carries out the action without the page.
 */
export function mcpCommands(server: Server, chat: ChatLink): Readonly<Record<string, Handler>> {
  return {
    "indwell.mcp": async (...args) => {
      const argument = argumentOf(args);
      if (stringIn(argument, "action") !== null)
        return server.execute("indwell.mcp", { ...argument, wait: true });
      await chat.show(true);
      return chat.perform({ type: "mcp", action: "open" });
    },
  };
}
