/** Shows a notification where the panel is hidden and something needs the user. */
import * as vscode from "vscode";
import { say } from "../../say.ts";
import type { ChatLink } from "../chat-link.ts";
import { noticesOf, type PanelNotice } from "./notices.ts";

const SHOW = "Show";
const NO = "No";
/** A question brings the panel to view by itself; only where that fails is there a notification (ms). */
const PATIENCE_MS = 1_000;

/** Until it is disposed of. */
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

/** A question may have been answered meanwhile. */
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
