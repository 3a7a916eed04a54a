/** Shows messages of the server: questions that need an answer as dialogs, because a toast may hide unseen. */
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

/** Milliseconds until a dialog opens: a key that was meant for what had the focus must not answer it. */
const REST_MS = 500;

/** For the life of one server process; takes the place of the client's own handling. */
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
  // No button closes the box by itself: VS Code would take it out of the row, and the next one had the focus.
  return askModal(head, rest.join("\n").trim(), safeFirst(items));
}
