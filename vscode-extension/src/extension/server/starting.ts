/** When the server starts, and starts anew, without being told to. */
import * as vscode from "vscode";
import { say } from "../say.ts";
import type { Server } from "./server.ts";

/** Documents of these are the user's own; the first one that is looked at wants the server. */
const SCHEMES: readonly string[] = ["file", "untitled", "vscode-notebook-cell"];

/**
 * Starts the server once the user looks at a document, and anew when the folder becomes trusted.
 *
 * The panel and commands start it by themselves, by asking it something.
 */
export function startWhenWanted(server: Server): vscode.Disposable {
  const look = (editor: vscode.TextEditor | undefined): void => {
    if (server.state.kind !== "off") return;
    if (editor !== undefined && SCHEMES.includes(editor.document.uri.scheme)) {
      server.ready().catch(() => {}); // the state says why
    }
  };
  // Not within the activation, which other extensions wait for.
  const soon = setTimeout(() => look(vscode.window.activeTextEditor), 0);
  return vscode.Disposable.from(
    { dispose: () => clearTimeout(soon) },
    vscode.window.onDidChangeActiveTextEditor(look),
    vscode.workspace.onDidGrantWorkspaceTrust(() => {
      if (server.state.kind !== "off") server.restart().catch(() => {});
    }),
    vscode.workspace.onDidChangeWorkspaceFolders(() => void offerRestart(server)),
  );
}

/** The server takes its folders when it starts; a turn that runs is not stopped without consent. */
async function offerRestart(server: Server): Promise<void> {
  if (server.state.kind !== "running") return;
  const restart = "Restart the Server";
  const chosen = await say(
    "info",
    "Indwell: the folders of this window have changed. Restart the server to work in them.",
    restart,
  );
  if (chosen === restart) await server.restart().catch(() => {});
}
