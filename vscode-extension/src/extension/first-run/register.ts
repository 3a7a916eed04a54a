/**
 * Registers commands of the first run and of the header, which have the same effect as the panel's
 * messages.
 */

import * as vscode from "vscode";
import { t } from "../../shared/l10n.ts";
import type { ToHost } from "../../shared/messages.ts";
import type { PanelState } from "../../shared/state/state.ts";
import { askForWords, say } from "../say.ts";
import { manageKeys } from "./manage-keys.ts";

/** The used part of the chat. */
export interface ChatDoor {
  readonly state: PanelState;
  show(focus: boolean): Promise<boolean>;
  perform(message: ToHost): Promise<void>;
  /** The chat in which the user worked last. */
  readonly here: Pick<ChatDoor, "state" | "perform">;
}

/** Registers the commands Connect a Model, Manage Keys, Show Sessions and Rename the Session. */
export function registerFirstRun(
  context: vscode.ExtensionContext,
  chat: ChatDoor,
): vscode.Disposable {
  const inPanel = async (message: ToHost) => {
    await chat.show(true);
    await chat.perform(message);
  };
  return vscode.Disposable.from(
    vscode.commands.registerCommand("indwell.connect", () =>
      inPanel({ type: "command", command: "connect" }),
    ),
    vscode.commands.registerCommand("indwell.manageKeys", () => manageKeys(context.secrets)),
    vscode.commands.registerCommand("indwell.sessions", () =>
      inPanel({ type: "sessions", query: "", more: false }),
    ),
    vscode.commands.registerCommand("indwell.renameSession", () => rename(chat.here)),
  );
}

async function rename(chat: Pick<ChatDoor, "state" | "perform">): Promise<void> {
  const { session, status } = chat.state;
  if (session === null) {
    void say("info", t("Indwell: there is no session yet."));
    return;
  }
  const title = await askForWords({
    title: t("Rename the session"),
    prompt: t("Empty: the beginning of the first words"),
    value: status?.title ?? "",
  });
  if (title !== undefined) await chat.perform({ type: "renameSession", session, title });
}
