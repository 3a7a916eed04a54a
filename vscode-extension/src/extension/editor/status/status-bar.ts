/**
 * Shows the entry in the status bar, with at most two updates a second, and only if something
 * changed.
 */
import * as vscode from "vscode";
import type { Server } from "../../server/server.ts";
import type { ChatLink } from "../chat-link.ts";
import { type StatusWords, statusWords } from "./status-words.ts";

const PAUSE_MS = 500;
/** The position: to the right of the entries of languages, to the left of notifications. */
const PRIORITY = 100;

/** The command of a click. */
const COMMANDS: Readonly<Record<StatusWords["tone"], string>> = {
  plain: "indwell.focusChat",
  asks: "indwell.focusQuestion",
  down: "indwell.restartServer",
};

/** Shows the entry until the returned object is disposed; a click shows the panel. */
export function showStatus(server: Server, chat: ChatLink): vscode.Disposable {
  const item = vscode.window.createStatusBarItem(
    "indwell.status",
    vscode.StatusBarAlignment.Right,
    PRIORITY,
  );
  item.name = "Indwell";
  let shown = "";
  let shownAt = 0;
  let timer: NodeJS.Timeout | undefined;

  const update = (): void => {
    timer = undefined;
    const words = statusWords(server.state, chat.state);
    const key = JSON.stringify(words);
    if (key === shown) return;
    shown = key;
    shownAt = Date.now();
    show(item, words);
  };
  const later = (): void => {
    timer ??= setTimeout(update, Math.max(0, shownAt + PAUSE_MS - Date.now()));
  };

  update();
  item.show();
  return vscode.Disposable.from(
    item,
    server.onDidChangeState(later),
    chat.onDidChangeState(later),
    new vscode.Disposable(() => clearTimeout(timer)),
  );
}

function show(item: vscode.StatusBarItem, words: StatusWords): void {
  item.text = words.text;
  item.tooltip = words.tooltip.join("\n");
  item.accessibilityInformation = { label: words.spoken, role: "button" };
  item.command = COMMANDS[words.tone];
  item.backgroundColor =
    words.tone === "plain" ? undefined : new vscode.ThemeColor("statusBarItem.warningBackground");
}
