/**
 * The only access to VS Code's own messages, questions and progress; removes markup from every
 * text.
 */
import * as vscode from "vscode";
import { visible } from "../shared/visible.ts";
import { plainWords } from "./plain-words.ts";

/** The severity of a notification. */
export type Level = "info" | "warning" | "error";

/** Shows a notification; resolves to the pressed button, or to undefined. */
export async function say<Button extends string>(
  level: Level,
  words: string,
  ...buttons: readonly Button[]
): Promise<Button | undefined> {
  const items = buttons.map((title) => ({ title }));
  return (await show(level, plainWords(words), items))?.title;
}

/** Does the same as `say`, with buttons that carry values. */
export async function sayItems<Item extends vscode.MessageItem>(
  level: Level,
  words: string,
  items: readonly Item[],
): Promise<Item | undefined> {
  return show(level, plainWords(words), items);
}

/**
 * Asks a modal question, and waits for an answer; undefined if the dialog is closed. A dialog draws
 * no links.
 */
export async function askModal<Item extends vscode.MessageItem>(
  words: string,
  detail: string,
  items: readonly Item[],
): Promise<Item | undefined> {
  const options = { modal: true, ...(detail === "" ? {} : { detail: visible(detail) }) };
  return vscode.window.showWarningMessage(visible(words), options, ...items);
}

/** Shows a line in the status bar that disappears after `ms` milliseconds. */
export function sayInPassing(words: string, ms: number): void {
  vscode.window.setStatusBarMessage(plainWords(words), ms);
}

/** Shows the progress of `work`, which the user can cancel; `step` reports each step. */
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

/** Asks for a line of text; returns undefined if the box was closed. */
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
