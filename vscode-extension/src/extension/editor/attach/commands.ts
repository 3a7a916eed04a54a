/** The commands that attach a selection, files, problems or terminal text to the next prompt. */

import * as vscode from "vscode";
import { plural, t } from "../../../shared/l10n.ts";
import { problemsOf } from "../../client/problems.ts";
import { isWork } from "../../client/watch-attention.ts";
import type { ChatHere, ChatLink } from "../chat-link.ts";
import type { Handler } from "../commands/run.ts";
import { boundedText, nameOf } from "./mention.ts";
import { selected } from "./selection.ts";
import { terminalSelection } from "./terminal-selection.ts";

/** The handlers; each attaches something and focuses the composer. */
export function attachCommands(chat: ChatLink): Readonly<Record<string, Handler>> {
  return {
    "indwell.focusChat": () => chat.show(true),
    "indwell.focusQuestion": () => chat.show("question"),
    "indwell.find": () => chat.here.show("find"),
    "indwell.askAboutSelection": () => addSelection(chat.here),
    "indwell.addSelectionToChat": () => addSelection(chat.here),
    "indwell.addFileToChat": (...args) => addFiles(chat.here, args),
    "indwell.addProblemsToChat": (...args) => addProblems(chat.here, args),
    "indwell.addTerminalToChat": () => addTerminal(chat.here),
  };
}

async function addSelection(chat: ChatHere): Promise<void> {
  const chosen = selected();
  const document = vscode.window.activeTextEditor?.document;
  if (chosen?.kind === "text") {
    await chat.perform({ type: "attachText", label: chosen.label, text: chosen.text });
  } else if (chosen !== null) {
    await chat.perform({ type: "attachMention", value: chosen.value, label: chosen.label });
  } else if (document !== undefined && document.uri.scheme !== "file") {
    // The document is not on disk, so its current text is attached.
    const text = boundedText(document.getText());
    await chat.perform({ type: "attachText", label: nameOf(document.uri.path), text });
  } else if (document !== undefined) {
    await chat.perform({ type: "attachUris", uris: [document.uri.toString()] });
  }
  await chat.show(true);
}

/** Attaches files; the explorer passes the clicked file, then all selected files. */
async function addFiles(chat: ChatHere, args: readonly unknown[]): Promise<void> {
  const [clicked, marked] = args;
  const chosen = Array.isArray(marked) && marked.length > 0 ? marked : [clicked];
  const uris = chosen.filter((one) => one instanceof vscode.Uri);
  const active = vscode.window.activeTextEditor?.document.uri;
  const found = uris.length > 0 || active === undefined ? uris : [active];
  const files = found.filter((one) => isWork(one.scheme));
  if (files.length === 0) throw new Error(t("There is no file to add."));
  await chat.perform({ type: "attachUris", uris: files.map((one) => one.toString()) });
  await chat.show(true);
}

async function addProblems(chat: ChatHere, args: readonly unknown[]): Promise<void> {
  const [clicked] = args;
  const active = vscode.window.activeTextEditor?.document.uri;
  const uri = clicked instanceof vscode.Uri ? clicked : active;
  if (uri === undefined) throw new Error(t("Open a file first: its problems are attached."));
  const number = problemsOf(uri).length;
  if (number === 0) throw new Error(t("{0} has no problems.", nameOf(uri.path)));
  const label = `${nameOf(uri.path)}: ${plural(number, "{0} problem", "{0} problems")}`;
  await chat.perform({ type: "attachMention", value: `problems:${uri.toString()}`, label });
  await chat.show(true);
}

async function addTerminal(chat: ChatHere): Promise<void> {
  const text = await terminalSelection();
  if (text === null) throw new Error(t("Mark something in the terminal first."));
  const label = t("Terminal: {0}", vscode.window.activeTerminal?.name ?? t("selection"));
  await chat.perform({ type: "attachText", label, text: boundedText(text) });
  await chat.show(true);
}
