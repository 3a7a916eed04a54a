/** Sets the context keys by which menus and keys appear, only when their values change. */
import * as vscode from "vscode";
import type { PanelState } from "../../../shared/state/state.ts";
import type { Server } from "../../server/server.ts";
import type { ChatLink } from "../chat-link.ts";
import { touching } from "../pending/neighbours.ts";
import type { PendingChanges } from "../pending/pending-changes.ts";
import { BASE_SCHEME } from "../review/review.ts";
import { doingNow } from "./status-words.ts";

const REST_MS = 50;

/** Keeps the `indwell.*` keys up to date until the returned object is disposed. */
export function keepContextKeys(
  server: Server,
  chat: ChatLink,
  pending: PendingChanges,
): vscode.Disposable {
  const set = new Map<string, string>();
  let timer: NodeJS.Timeout | undefined;
  const keep = (name: string, value: unknown): void => {
    const written = JSON.stringify(value);
    if (set.get(name) === written) return;
    set.set(name, written);
    void vscode.commands.executeCommand("setContext", `indwell.${name}`, value);
  };
  const update = (): void => {
    timer = undefined;
    keep("ready", server.state.kind === "running");
    keep("running", doingNow(chat.state) !== null);
    keep("asking", chat.state.questions.length > 0);
    keep("hasSession", chat.state.session !== null);
    keep("hasCommands", chat.state.commands.length > 0);
    keep("hasPlan", (chat.state.plan?.state ?? "none") !== "none");
    keep(
      "planPaths",
      chat.all.flatMap(({ state }) => planPaths(state.plan)),
    );
    // A step of the walkthrough is checked off however the user has done the step.
    keep("connected", chat.state.status?.lacking === "");
    keep("trusted", chat.state.status?.trusted === true);
    keep("hasAsked", chat.state.turns.length > 0);
    keep("pending", pending.total);
    keep("hasPending", pending.total > 0);
    keep("canUndoVerdict", pending.undo !== "");
    // Paths are used, because in a remote window the workbench uses another URI scheme than this
    // host.
    keep("pendingPaths", pending.paths);
    keep("changeAtCursor", isAtChange(pending));
    keep("diffShown", isDiffShown());
    keep("reviewShown", isReviewShown());
  };
  const later = (): void => {
    timer ??= setTimeout(update, REST_MS);
  };
  update();
  return vscode.Disposable.from(
    server.onDidChangeState(later),
    chat.onDidChangeState(later),
    pending.onChange(later),
    vscode.window.onDidChangeTextEditorSelection(later),
    vscode.window.onDidChangeActiveTextEditor(later),
    vscode.window.tabGroups.onDidChangeTabs(later),
    vscode.window.tabGroups.onDidChangeTabGroups(later),
    new vscode.Disposable(() => clearTimeout(timer)),
  );
}

/** Returns the path of a plan's document if the plan waits for the user. */
function planPaths(plan: PanelState["plan"]): readonly string[] {
  return plan?.state === "proposed" && plan.path !== "" ? [plan.path] : [];
}

function isAtChange(pending: PendingChanges): boolean {
  const editor = vscode.window.activeTextEditor;
  if (editor === undefined || pending.total === 0) return false;
  const { start, end } = editor.selection;
  return touching(pending.stops, editor.document.uri.toString(), start.line, end.line).length > 0;
}

function isDiffShown(): boolean {
  const input = vscode.window.tabGroups.activeTabGroup.activeTab?.input;
  return input instanceof vscode.TabInputTextDiff && input.original.scheme === BASE_SCHEME;
}

/**
 * Returns whether a review is shown; extensions can recognise VS Code's multi-file editor only by
 * its title.
 */
function isReviewShown(): boolean {
  const tab = vscode.window.tabGroups.activeTabGroup.activeTab;
  return tab?.label.startsWith("Indwell: ") === true && !isDiffShown();
}
