/**
 * The entry points by which VS Code starts and ends the extension; this file only connects the
 * parts.
 */
import "./language.ts";
import * as vscode from "vscode";
import { registerChat } from "./chat/register.ts";
import { registerClient } from "./client/register.ts";
import { LastCommands } from "./editor/attach/last-command.ts";
import { registerEditor } from "./editor/register.ts";
import { registerDemo } from "./first-run/demo.ts";
import { registerFirstRun } from "./first-run/register.ts";
import { registerModels } from "./models/register.ts";
import { registerPlace } from "./place.ts";
import { OwnServer } from "./server/own-server.ts";
import { registerServerCommands, startWhenWanted } from "./server/server-commands.ts";

let running: OwnServer | undefined;

/** Called once by VS Code; starts no process. */
export function activate(context: vscode.ExtensionContext): void {
  const log = vscode.window.createOutputChannel("Indwell", { log: true });
  const server = new OwnServer(context, log);
  running = server;
  const models = registerModels(server);
  const terminals = new LastCommands();
  const chat = registerChat(context, server, models, terminals);
  context.subscriptions.push(
    log,
    server,
    models,
    terminals,
    registerClient(context, server),
    chat,
    registerEditor(context, server, chat, terminals),
    registerFirstRun(context, chat),
    registerDemo(context, server, chat),
    registerServerCommands(server),
    registerPlace(),
    startWhenWanted(server),
  );
}

/** Called once when the window closes; the server ends, too. */
export async function deactivate(): Promise<void> {
  await running?.close();
}
