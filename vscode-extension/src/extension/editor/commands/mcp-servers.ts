/** Lists the MCP servers of the workspace: add, remove, approve a project's, restart. */
import * as vscode from "vscode";
import type { McpResult, McpRow } from "../../../protocol.ts";
import { plainWords } from "../../plain-words.ts";
import { askForWords, askModal } from "../../say.ts";
import type { Server } from "../../server/server.ts";
import { isUndecided, type McpWish, serverOf, serverRow, showUntilClosed } from "./mcp-rows.ts";
import { argumentOf, type Handler, stringIn } from "./run.ts";

const button = (icon: string, tooltip: string): vscode.QuickInputButton => ({
  iconPath: new vscode.ThemeIcon(icon),
  tooltip,
});
const REMOVE = button("trash", "Remove from Your Settings");
const DECIDE = button("question", "Decide Whether It Is Used");
const RESTART = button("debug-restart", "Start Again");

type Row = vscode.QuickPickItem & { readonly server: McpRow | null };

/** The handler of the list; with an `action` it carries that out without a list. */
export function mcpCommands(server: Server): Readonly<Record<string, Handler>> {
  return {
    "indwell.mcp": (...args) => {
      const argument = argumentOf(args);
      if (stringIn(argument, "action") === null) {
        const ask = (wish: McpWish) => server.request<McpResult>("indwell/mcp", wish);
        return showUntilClosed({ ask, choose, isSure });
      }
      return server.execute("indwell.mcp", { ...argument, wait: true });
    },
  };
}

/** The user's choice; null if the list was closed. */
async function choose(found: McpResult): Promise<McpWish | null> {
  const box = vscode.window.createQuickPick<Row>();
  box.title = "Indwell: MCP servers";
  box.placeholder = plainWords(found.problems[0] ?? "Choose a server, or add one");
  box.matchOnDescription = true;
  box.ignoreFocusOut = true; // a dialog that closes would take the list along
  box.items = [
    { label: "$(add) Add a server…", alwaysShow: true, server: null },
    ...found.servers.map(rowOf),
  ];
  try {
    const chosen = await new Promise<McpWish | "add" | null>((resolve) => {
      box.onDidTriggerItemButton(({ item, button: pressed }) => resolve(wishOf(item, pressed)));
      box.onDidAccept(() => {
        const item = box.selectedItems[0];
        if (item?.server === null) resolve("add");
        else if (item !== undefined) resolve(wishOf(item, item.buttons?.[0]));
      });
      box.onDidHide(() => resolve(null));
      box.show();
    });
    box.hide();
    return chosen === "add" ? add() : chosen;
  } finally {
    box.dispose();
  }
}

function rowOf(server: McpRow): Row {
  const { label, description, detail } = serverRow(server);
  const buttons = [
    ...(isUndecided(server) ? [DECIDE] : []),
    ...(server.standing === "usable" ? [RESTART] : []),
    ...(server.own ? [REMOVE] : []),
  ];
  return { label, description, detail, buttons, server };
}

function wishOf({ server }: Row, pressed: vscode.QuickInputButton | undefined): McpWish | null {
  if (server === null) return null;
  const { name } = server;
  if (pressed === DECIDE) return { action: "approve", name };
  if (pressed === REMOVE) return { action: "remove", name };
  return pressed === RESTART ? { action: "restart", name } : null;
}

async function add(): Promise<McpWish | null> {
  const line = await askForWords({
    title: "Add an MCP server to your settings",
    prompt: "The program with its arguments, or the address of a server that runs already",
    placeHolder: "npx -y @modelcontextprotocol/server-filesystem .",
    ignoreFocusOut: true,
  });
  const what = line === undefined ? null : serverOf(line);
  if (what === null) return null;
  const name = await askForWords({
    title: "Add an MCP server to your settings",
    prompt: "Its name: small letters, digits and '-'; the names of its tools begin with it",
    ignoreFocusOut: true,
  });
  return name === undefined ? null : { action: "add", name: name.trim(), ...what };
}

async function isSure(name: string): Promise<boolean> {
  const answer = await askModal(`Remove the MCP server ${name} from your settings?`, "", [
    { title: "Remove" },
  ]);
  return answer !== undefined;
}
