/** The one door to VS Code's own messages, questions and progress: what goes through it is plain words. */
import * as vscode from "vscode";
import { visible } from "../shared/visible.ts";
import { plainWords } from "./plain-words.ts";

/** How urgent a notification is. */
export type Level = "info" | "warning" | "error";

/** A notification; resolves to the button pressed, or undefined. */
export async function say<Button extends string>(
  level: Level,
  words: string,
  ...buttons: readonly Button[]
): Promise<Button | undefined> {
  const items = buttons.map((title) => ({ title }));
  return (await show(level, plainWords(words), items))?.title;
}

/** The same with buttons that are more than their words. */
export async function sayItems<Item extends vscode.MessageItem>(
  level: Level,
  words: string,
  items: readonly Item[],
): Promise<Item | undefined> {
  return show(level, plainWords(words), items);
}

/** A modal question: nothing goes on until it is answered or closed (undefined). A box draws no links. */
export async function askModal<Item extends vscode.MessageItem>(
  words: string,
  detail: string,
  items: readonly Item[],
): Promise<Item | undefined> {
  const options = { modal: true, ...(detail === "" ? {} : { detail: visible(detail) }) };
  return vscode.window.showWarningMessage(visible(words), options, ...items);
}

/** A line in the status bar that goes by itself after `ms` milliseconds. */
export function sayInPassing(words: string, ms: number): void {
  vscode.window.setStatusBarMessage(plainWords(words), ms);
}

/** Shows that `work` goes on; `step` says how far. It can be cancelled. */
export async function showProgress<Result>(
  title: string,
  work: (step: (words: string) => void, token: vscode.CancellationToken) => Promise<Result>,
): Promise<Result> {
  const location = vscode.ProgressLocation.Notification;
  const options = { location, title: plainWords(title), cancellable: true };
  return vscode.window.withProgress(options, (progress, token) =>
    work((words) => progress.report({ message: plainWords(words) }), token),
  );
}

/** A line of the user's; undefined if the box was closed. */
export async function askForWords(
  options: vscode.InputBoxOptions & { readonly prompt: string },
  token?: vscode.CancellationToken,
): Promise<string | undefined> {
  const plain = { ...options, prompt: plainWords(options.prompt) };
  return vscode.window.showInputBox(plain, token);
}

async function show<Item extends vscode.MessageItem>(
  level: Level,
  words: string,
  items: readonly Item[],
): Promise<Item | undefined> {
  switch (level) {
    case "info":
      return vscode.window.showInformationMessage(words, ...items);
    case "warning":
      return vscode.window.showWarningMessage(words, ...items);
    case "error":
      return vscode.window.showErrorMessage(words, ...items);
    default:
      return level satisfies never;
  }
}
