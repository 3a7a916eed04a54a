/**
 * Implements fix, explain, document, test, refactor and ask: from the palette, menus, keys, code
 * actions and lenses.
 */

import * as vscode from "vscode";
import type { LanguageClient } from "vscode-languageclient/node";
import { type StartedResult, TASK_COMMANDS } from "../../../protocol.ts";
import { t } from "../../../shared/l10n.ts";
import { askInABox } from "../../client/ask-box.ts";
import { problemsIn, problemsOf } from "../../client/problems.ts";
import { isWork, plainRange } from "../../client/watch-attention.ts";
import type { Server } from "../../server/server.ts";
import type { ChatLink } from "../chat-link.ts";
import { argumentOf, type Handler } from "./run.ts";

interface Task {
  readonly command: string;
  /** The prompt of the input box, or null if the task needs no text. */
  readonly question: string | null;
  /** Whether the answer is text to read, so that the panel is shown. */
  readonly answers: boolean;
  /** Whether the task applies to the whole document. */
  readonly whole: boolean;
}

/** Tasks that need text, answer with text, or apply to the whole document; others edit the selection. */
const SPECIAL: Readonly<Partial<Record<(typeof TASK_COMMANDS)[number], Partial<Task>>>> = {
  "indwell.fixAll": { whole: true },
  "indwell.explain": { answers: true },
  "indwell.refactor": { question: t("Refactor how?") },
  "indwell.edit": { question: t("Edit how?") },
  "indwell.ask": { question: t("Ask about this"), answers: true },
};
const TASKS: readonly Task[] = TASK_COMMANDS.map((command) => ({
  command,
  question: null,
  answers: false,
  whole: false,
  ...SPECIAL[command],
}));

/** The handlers of all tasks. */
export function taskCommands(server: Server, chat: ChatLink): Readonly<Record<string, Handler>> {
  return Object.fromEntries(
    TASKS.map((task) => [
      task.command,
      (...args: readonly unknown[]) => runTask(task, args, server, chat),
    ]),
  );
}

async function runTask(
  task: Task,
  args: readonly unknown[],
  server: Server,
  chat: ChatLink,
): Promise<StartedResult | null> {
  const given = argumentOf(args);
  // A code action or a key binding passes a position; the palette means the active editor.
  const place = given !== null && "uri" in given ? given : here(await server.ready(), task);
  if (place === null) {
    throw new Error(t("Open a file first: there is nothing to work on."));
  }
  const asked = { ...place, ...(given ?? {}) };
  const needsWords = task.question !== null && typeof asked["text"] !== "string";
  const words = needsWords ? await askInABox(task.question ?? "", placeholder(asked)) : undefined;
  if (words === null || words?.trim() === "") return null;
  if (task.answers) void chat.show(false);
  const full = words === undefined ? asked : { ...asked, text: words };
  return (await server.execute<StartedResult | null>(task.command, full)) ?? null;
}

function placeholder(asked: Readonly<Record<string, unknown>>): string {
  const uri = asked["uri"];
  return typeof uri === "string" ? vscode.workspace.asRelativePath(vscode.Uri.parse(uri)) : "";
}

/** Returns the selection of the active editor (or its cursor), with the problems there. */
function here(client: LanguageClient, task: Task): Readonly<Record<string, unknown>> | null {
  const editor = vscode.window.activeTextEditor;
  if (editor === undefined || !isWork(editor.document.uri.scheme)) return null;
  const { document, selection } = editor;
  const problems = task.whole ? problemsOf(document.uri) : problemsIn(document.uri, selection);
  return {
    uri: document.uri.toString(),
    version: document.version,
    range: plainRange(selection),
    diagnostics: client.code2ProtocolConverter.asDiagnosticsSync([...problems]),
  };
}
