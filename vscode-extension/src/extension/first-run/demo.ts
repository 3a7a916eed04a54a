/**
 * Implements "Try Without a Key": opens a made-up project in a new window, whose server uses a
 * scripted model.
 */

import * as vscode from "vscode";
import type { DemoResult } from "../../protocol.ts";
import { t } from "../../shared/l10n.ts";
import { say } from "../say.ts";
import type { Server } from "../server/server.ts";
import type { ChatDoor } from "./register.ts";

/** The name under which VS Code stores the folder of a demo until the demo's window has opened. */
const WAITING = "demoFolder";

/** Registers the command; in the window of a new demo, shows the faulty function and the panel. */
export function registerDemo(
  context: vscode.ExtensionContext,
  server: Server,
  chat: ChatDoor,
): vscode.Disposable {
  const { globalState } = context;
  const begin = async (): Promise<void> => {
    const demo = await server.request<DemoResult>("indwell/demo");
    if (demo.folder === folderOfWindow()) {
      await showFault(demo);
      await vscode.commands.executeCommand("indwell.fix");
      return;
    }
    await globalState.update(WAITING, demo.folder);
    const folder = vscode.Uri.file(demo.folder);
    await vscode.commands.executeCommand("vscode.openFolder", folder, { forceNewWindow: true });
  };
  if (folderOfWindow() !== "" && globalState.get<string>(WAITING) === folderOfWindow()) {
    void globalState.update(WAITING, undefined);
    void server
      .request<DemoResult>("indwell/demo")
      .then(showFault)
      .then(() => chat.show(false))
      .catch(() => {}); // the panel says why the server does not run
  }
  return vscode.commands.registerCommand("indwell.tryDemo", () =>
    begin().catch((error: unknown) => say("error", sentence(error))),
  );
}

function folderOfWindow(): string {
  const [folder, ...others] = vscode.workspace.workspaceFolders ?? [];
  return folder === undefined || others.length > 0 ? "" : folder.uri.fsPath;
}

/** Opens the file, with the faulty function selected. */
async function showFault(demo: DemoResult): Promise<void> {
  const selection = new vscode.Range(demo.first, 0, demo.last + 1, 0);
  const file = vscode.Uri.file(demo.file);
  await vscode.window.showTextDocument(file, { selection, preview: false });
}

function sentence(error: unknown): string {
  return `Indwell: ${error instanceof Error ? error.message : t("The demo could not be opened")}`;
}
