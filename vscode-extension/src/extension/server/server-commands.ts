/**
 * Starts, stops and chooses the server, by commands and automatically, and says when the server has
 * stopped.
 */
import * as vscode from "vscode";
import { t } from "../../shared/l10n.ts";
import { say } from "../say.ts";
import type { Server } from "./server.ts";
import type { ServerState } from "./state.ts";

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

const PYTHON_PAGE = "https://www.python.org/downloads/";

/** Registers the commands. */
export function registerServerCommands(server: Server): vscode.Disposable {
  const commands: Readonly<Record<string, () => unknown>> = {
    "indwell.startServer": () => quietly(server.ready()),
    "indwell.restartServer": () => quietly(server.restart()),
    "indwell.stopServer": () => server.stop(),
    "indwell.showLog": () => server.log.show(true),
    "indwell.writeReport": () => writeReport(server),
    "indwell.chooseServer": () => chooseServer(),
  };
  return vscode.Disposable.from(
    ...Object.entries(commands).map(([name, run]) => vscode.commands.registerCommand(name, run)),
    server.onDidChangeState((state) => void sayWhyItIsDown(state, server)),
    vscode.workspace.onDidChangeConfiguration((change) => {
      if (change.affectsConfiguration("indwell.serverPath")) void quietly(server.restart());
    }),
  );
}

/**
 * Ignores an error, because the server's state shows the failure; the command shows no second
 * message.
 */
async function quietly(work: Promise<unknown>): Promise<void> {
  await work.catch(() => {});
}

async function sayWhyItIsDown(state: ServerState, server: Server): Promise<void> {
  if (state.kind !== "stopped" || !state.crashed) return;
  const choose = t("Choose the Server…");
  const showLog = t("Show the Log");
  const retry = t("Retry");
  const python = t("Get Python");
  const offered = /Python/.test(state.reason)
    ? [retry, python, choose, showLog]
    : [retry, showLog, choose];
  const chosen = await say("error", `Indwell: ${state.reason}`, ...offered);
  if (chosen === choose) await chooseServer();
  if (chosen === showLog) server.log.show();
  if (chosen === retry) await quietly(server.restart());
  if (chosen === python) await vscode.env.openExternal(vscode.Uri.parse(PYTHON_PAGE));
}

/** Asks for the program and writes the user's own setting; the change restarts the server. */
async function chooseServer(): Promise<void> {
  const chosen = await vscode.window.showOpenDialog({
    title: t("Choose the program indwell"),
    openLabel: t("Choose"),
    canSelectMany: false,
  });
  const path = chosen?.[0]?.fsPath;
  if (path === undefined) return;
  const settings = vscode.workspace.getConfiguration("indwell");
  await settings.update("serverPath", path, vscode.ConfigurationTarget.Global);
}

/**
 * Runs `indwell doctor --report` in a terminal, which shows the report and asks before it writes
 * the file; the file opens when the terminal is closed.
 */
async function writeReport(server: Server): Promise<void> {
  await quietly(server.ready());
  const program = server.program;
  if (program === undefined) {
    await say("error", t("Indwell: no server was found. Choose one, or install Indwell first."));
    return;
  }
  const folder = vscode.workspace.workspaceFolders?.[0]?.uri;
  const file = await vscode.window.showSaveDialog({
    title: t("Write a report for an issue to a new file"),
    filters: { Markdown: ["md"] },
    ...(folder ? { defaultUri: vscode.Uri.joinPath(folder, "indwell-report.md") } : {}),
  });
  if (file === undefined) return;
  const terminal = vscode.window.createTerminal({
    name: t("Indwell Report"),
    shellPath: program.command,
    shellArgs: [...reportArguments(program.args), file.fsPath],
    ...(folder ? { cwd: folder } : {}),
  });
  terminal.show();
  const closed = vscode.window.onDidCloseTerminal((one) => {
    if (one !== terminal) return;
    closed.dispose();
    vscode.window.showTextDocument(file).then(undefined, () => {}); // The user may have said no.
  });
}

/** Replaces the arguments that start the server by those that print a report. */
function reportArguments(args: readonly string[]): readonly string[] {
  return [...args.slice(0, args.indexOf("serve")), "doctor", "--report"];
}
