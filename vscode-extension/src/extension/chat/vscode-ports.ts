/** The chat's ports on the real editor. */
import * as vscode from "vscode";
import { t } from "../../shared/l10n.ts";
import { Colours } from "../colours/colours.ts";
import { runLabel, runText } from "../editor/attach/command-run.ts";
import type { LastCommands } from "../editor/attach/last-command.ts";
import { selected } from "../editor/attach/selection.ts";
import { terminalSelection } from "../editor/attach/terminal-selection.ts";
import { askModal, say, sayInPassing } from "../say.ts";
import { VsCodeDocuments } from "./editor/vscode-documents.ts";
import { findInWorkspace, mentionsOf } from "./find/find-in-workspace.ts";
import { KeptFile, storedHere } from "./keeping/kept-file.ts";
import type { Dialogs, Finding, Memory, Ports, Shell } from "./ports.ts";

const dialogs: Dialogs = {
  confirm: async (words, detail, choices) =>
    (
      await askModal(
        words,
        detail,
        choices.map((title) => ({ title })),
      )
    )?.title ?? null,
  pick: async (title, rows) => {
    const shown = rows.map((row) => ({ ...row, description: row.detail, detail: "" }));
    const picked = await vscode.window.showQuickPick(shown, { title, matchOnDescription: true });
    return picked?.value ?? null;
  },
  say: (words) => sayInPassing(words, 3000),
};

const shell: Shell = {
  run: async (command, ...args) => vscode.commands.executeCommand(command, ...args),
  copy: async (text) => vscode.env.clipboard.writeText(text),
  openExternal: async (href) => vscode.env.openExternal(vscode.Uri.parse(href, true)),
};

/** The values without which a reloaded panel would be empty; a file stores them immediately. */
const FILED = new Set(["session", "lastShown"]);

function memoryOf(context: vscode.ExtensionContext, log: (words: string) => void): Memory {
  const { workspaceState, storageUri } = context;
  const state = storedHere(
    workspaceState,
    () =>
      void say(
        "warning",
        t(
          "Indwell: a newer version of this extension has stored the panel of this workspace. This version leaves what is stored unchanged, and keeps nothing for the next window. Update the extension.",
        ),
      ),
  );
  const failed = (error: unknown): void => log(`What the chat shows is not stored: ${error}`);
  const file =
    storageUri?.scheme === "file"
      ? new KeptFile(vscode.Uri.joinPath(storageUri, "chat.json").fsPath, failed)
      : null;
  return {
    get: (key) => {
      const filed = FILED.has(key) ? file?.get(key) : undefined;
      return filed === undefined ? state.get(`indwell.chat.${key}`) : filed;
    },
    set: (key, value) =>
      file !== null && FILED.has(key)
        ? file.set(key, value)
        : state.update(`indwell.chat.${key}`, value),
  };
}

/** Creates all ports; disposables are added to `subscriptions`. */
export function vscodePorts(
  context: vscode.ExtensionContext,
  subscriptions: vscode.Disposable[],
  commands: LastCommands,
  log: (words: string) => void,
): Ports {
  const colouring = new Colours(context.extensionUri, log);
  subscriptions.push(colouring);
  const lastCommand: Finding["lastCommand"] = () => {
    const { last } = commands;
    return last === null ? null : { label: runLabel(last), text: runText(last) };
  };
  return {
    colouring,
    dialogs,
    shell,
    documents: new VsCodeDocuments(subscriptions),
    finding: {
      find: (query, signal) => findInWorkspace(query, signal, lastCommand),
      mentions: mentionsOf,
      terminal: terminalSelection,
      lastCommand,
      selection: selected,
    },
    memory: memoryOf(context, log),
  };
}
