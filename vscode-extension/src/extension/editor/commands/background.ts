/** Lists the background commands, with a button to stop each. */

import * as vscode from "vscode";
import type { BackgroundCommand } from "../../../protocol.ts";
import { t } from "../../../shared/l10n.ts";
import { commandFigure } from "../../../shared/tool-words.ts";
import { plainWords } from "../../plain-words.ts";
import type { ChatLink } from "../chat-link.ts";
import type { Handler } from "./run.ts";

const STOP: vscode.QuickInputButton = {
  iconPath: new vscode.ThemeIcon("debug-stop"),
  tooltip: t("Stop the Command"),
};

type Row = vscode.QuickPickItem & { readonly id: string };

/** The handler of the list. */
export function backgroundCommands(chat: ChatLink): Readonly<Record<string, Handler>> {
  return { "indwell.commands": () => show(chat) };
}

/**
 * Shows the list until the user closes it, and updates it when commands start, end or are stopped.
 */
async function show(chat: ChatLink): Promise<void> {
  await chat.perform({ type: "commands", stop: null });
  if (chat.state.commands.length === 0) throw new Error(t("No command runs in the background."));
  const box = vscode.window.createQuickPick<Row>();
  box.title = t("Indwell: background commands");
  const draw = (): void => {
    box.items = chat.state.commands.map(rowOf);
  };
  const closed = new Promise<void>((resolve) => {
    box.onDidHide(resolve);
  });
  const parts = vscode.Disposable.from(
    box,
    chat.onDidChangeState(draw),
    box.onDidTriggerItemButton(({ item }) => chat.perform({ type: "commands", stop: item.id })),
    box.onDidAccept(() => void chat.show(false)),
  );
  draw();
  box.show();
  await closed;
  parts.dispose();
}

function rowOf(command: BackgroundCommand): Row {
  const isRunning = command.state === "running";
  return {
    id: command.id,
    label: plainWords(command.command.replace(/\s+/g, " ")),
    description: commandFigure(command),
    detail: plainWords(command.tail.trimEnd().split("\n").at(-1) ?? ""),
    buttons: isRunning ? [STOP] : [],
  };
}
