/** Starts and restarts the server automatically. */

import * as vscode from "vscode";
import { t } from "../../shared/l10n.ts";
import { say } from "../say.ts";
import type { Server } from "./server.ts";

/** URI schemes of the user's own documents; the first one that is shown starts the server. */
const SCHEMES: readonly string[] = ["file", "untitled", "vscode-notebook-cell"];

/**
 * Starts the server once the user looks at a document, and restarts it when the folder becomes
 * trusted. The panel and commands start the server by their requests.
 */
export function startWhenWanted(server: Server): vscode.Disposable {
  const look = (editor: vscode.TextEditor | undefined): void => {
    if (server.state.kind !== "off") return;
    if (editor !== undefined && SCHEMES.includes(editor.document.uri.scheme)) {
      server.ready().catch(() => {}); // The state contains the reason.
    }
  };
  // The start does not happen during the activation, for which other extensions wait.
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

/**
 * Offers a restart, because the server reads its list of folders only when it starts; without the
 * user's consent, a running turn is not stopped.
 */
async function offerRestart(server: Server): Promise<void> {
  if (server.state.kind !== "running") return;
  const restart = t("Restart the Server");
  const chosen = await say(
    "info",
    t("Indwell: the folders of this window have changed. Restart the server to work in them."),
    restart,
  );
  if (chosen === restart) await server.restart().catch(() => {});
}
