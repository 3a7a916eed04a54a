/** Shows a notification if the panel is hidden and the user is needed. */

import * as vscode from "vscode";
import { t } from "../../../shared/l10n.ts";
import { say } from "../../say.ts";
import type { ChatLink } from "../chat-link.ts";
import { noticesOf, type PanelNotice } from "./notices.ts";

const SHOW = t("Show");
const NO = t("No");
/**
 * Milliseconds to wait, because a question first shows the panel; a notification follows only if
 * that fails.
 */
const PATIENCE_MS = 1_000;

/** Shows notifications until the returned object is disposed. */
export function notifyHidden(chat: ChatLink): vscode.Disposable {
  let before = chat.state;
  const timers = new Set<NodeJS.Timeout>();
  const listening = chat.onDidChangeState((now) => {
    const found = noticesOf(before, now);
    before = now;
    if (chat.visible) return;
    for (const notice of found) {
      const timer = setTimeout(() => {
        timers.delete(timer);
        if (!chat.visible && stands(chat, notice)) void notify(chat, notice);
      }, PATIENCE_MS);
      timers.add(timer);
    }
  });
  return vscode.Disposable.from(
    listening,
    new vscode.Disposable(() => {
      for (const timer of timers) clearTimeout(timer);
    }),
  );
}

/** Returns whether the question is still open, because it may have been answered. */
function stands(chat: ChatLink, notice: PanelNotice): boolean {
  return notice.nonce === null || chat.state.questions.some((one) => one.nonce === notice.nonce);
}

async function notify(chat: ChatLink, notice: PanelNotice): Promise<void> {
  const buttons = notice.nonce === null ? [SHOW] : [SHOW, NO];
  const chosen = await say(notice.level, notice.words, ...buttons);
  if (chosen === SHOW) await chat.show(notice.about === "question" ? "question" : true);
  if (chosen === NO && notice.nonce !== null) {
    await chat.perform({ type: "answer", nonce: notice.nonce, answer: "no", hunks: null });
  }
}
