/**
 * Shows messages of the server: questions that need an answer appear as dialogs, because a toast
 * may hide unseen.
 */
import { setTimeout as sleep } from "node:timers/promises";
import * as vscode from "vscode";
import type {
  LanguageClient,
  MessageActionItem,
  ShowMessageParams,
  ShowMessageRequestParams,
} from "vscode-languageclient/node";
import { askModal, say, sayItems } from "../say.ts";
import { levelOf, safeFirst } from "./message-order.ts";

/**
 * Milliseconds before a dialog opens, so that a key meant for another window does not answer the
 * dialog.
 */
const REST_MS = 500;

/**
 * Registers the handler, which replaces the client's own and lasts as long as one server process.
 */
export function answerMessages(client: LanguageClient): vscode.Disposable {
  return vscode.Disposable.from(
    client.onNotification("window/showMessage", ({ type, message }: ShowMessageParams) => {
      void say(levelOf(type), message);
    }),
    client.onRequest("window/showMessageRequest", async (asked: ShowMessageRequestParams) => {
      const items = asked.actions ?? [];
      const level = levelOf(asked.type);
      const chosen =
        level === "info" || items.length === 0
          ? await sayItems(level, asked.message, items)
          : await choose(asked.message, items);
      return chosen === undefined ? null : { title: chosen.title };
    }),
  );
}

async function choose(
  message: string,
  items: readonly MessageActionItem[],
): Promise<MessageActionItem | undefined> {
  const [head = "", ...rest] = message.split("\n");
  await sleep(REST_MS);
  // No button is marked as the close button, because VS Code would move that button, and focus the
  // next one.
  return askModal(head, rest.join("\n").trim(), safeFirst(items));
}
