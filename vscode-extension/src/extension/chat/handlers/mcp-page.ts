/** Lists the MCP servers on a page, and carries out what the user chooses there. */

import type { McpParams } from "../../../protocol.ts";
import { t } from "../../../shared/l10n.ts";
import { type McpPage, namesOf, wordsOf } from "../../../shared/mcp-page.ts";
import { Cancel, isCancelled, isGone, sentenceOf } from "../backend.ts";
import type { HandlersOf } from "../panel/bridge.ts";
import type { Room } from "../room.ts";

/** Milliseconds until the state of a starting server is requested again. */
const AGAIN_MS = 1500;

const NOTHING: McpPage = { servers: [], problems: [], busy: "", error: "", added: 0 };

/** The handlers of the page; every action goes through the server's `indwell/mcp`. */
export function mcpHandlers(room: Room): HandlersOf<"mcp" | "mcpServer" | "mcpAdd"> {
  const { store, backend, clock, ports } = room;
  let running: Cancel | null = null;
  let stopWaiting = (): void => undefined;
  const show = (more: Partial<McpPage>): void => {
    const page = store.state.mcp;
    if (page !== null) store.dispatch({ type: "mcp", page: { ...page, ...more } });
  };
  const ask = async (params: McpParams, busy: string): Promise<boolean> => {
    running?.cancel();
    stopWaiting();
    const cancel = new Cancel();
    running = cancel;
    show({ busy, error: "" });
    try {
      const { servers, problems } = await backend.request("indwell/mcp", params, cancel);
      if (cancel.isCancellationRequested) return false;
      show({ servers, problems, busy: "" });
      const isStarting = servers.some(({ state }) => state === "starting" || state === "waiting");
      if (isStarting && store.state.mcp !== null) stopWaiting = clock.after(AGAIN_MS, look);
      return true;
    } catch (error) {
      if (running === cancel) show({ busy: "", error: words(error) });
      return false;
    } finally {
      if (running === cancel) running = null;
    }
  };
  const look = (): void => {
    if (running === null && store.state.mcp !== null) void ask({ action: "list" }, "");
  };
  /** Shows the log beside the page, also while another action runs. */
  const showLog = async (name: string): Promise<void> => {
    try {
      const { log } = await backend.request("indwell/mcp", { action: "log", name });
      const text = [...log, ""].join("\n");
      await ports.documents.showReadOnly(`MCP server ${name}.log`, text, `mcp ${name}`);
      show({ error: "" });
    } catch (error) {
      show({ error: words(error) });
    }
  };
  return {
    mcp: async ({ action }) => {
      if (action === "cancel") {
        running?.cancel();
        running = null;
        show({ busy: "" });
      } else if (action === "close") {
        running?.cancel();
        stopWaiting();
        store.dispatch({ type: "mcp", page: null });
      } else {
        if (store.state.mcp === null) store.dispatch({ type: "mcp", page: NOTHING });
        await ask({ action: "list" }, t("Looking for servers…"));
      }
    },
    mcpServer: async ({ action, name }) => {
      if (action === "log") return showLog(name);
      if (action === "remove") {
        const sure = t("Remove the MCP server {0} from your settings?", name);
        if ((await ports.dialogs.confirm(sure, "", [t("Remove")])) !== "Remove") return;
      }
      await ask({ action, name }, BUSY[action]);
    },
    mcpAdd: async ({ form }) => {
      const { name, kind, line, url, variables, hosts, header, headerVariable } = form;
      const own: Partial<McpParams> =
        kind === "program"
          ? { command: wordsOf(line), variables: namesOf(variables), hosts: namesOf(hosts) }
          : { url, header, header_variable: headerVariable };
      if (await ask({ action: "add", name, ...own }, t("Adding…")))
        show({ added: (store.state.mcp?.added ?? 0) + 1 });
    },
  };
}

const BUSY = {
  approve: t("The question is open in the editor…"),
  restart: t("Starting again…"),
  remove: t("Removing…"),
  login: t("Log in in your browser; this page waits for it…"),
} as const;

function words(error: unknown): string {
  if (isCancelled(error)) return "";
  return isGone(error) ? t("The server has stopped.") : sentenceOf(error);
}
