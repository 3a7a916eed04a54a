/**
 * Implements "Fix with Indwell" for a failing test or a failed command: a prompt with the failure
 * attached.
 */

import type * as vscode from "vscode";
import { t } from "../../../shared/l10n.ts";
import type { Attachment } from "../../../shared/state/state.ts";
import { type CommandRun, runLabel, runText } from "../attach/command-run.ts";
import type { LastCommands } from "../attach/last-command.ts";
import { boundedText, linesMention, nameOf } from "../attach/mention.ts";
import { relativePath } from "../attach/selection.ts";
import type { ChatLink } from "../chat-link.ts";
import type { Handler } from "./run.ts";
import { type FailedTest, testText } from "./test-text.ts";

// The text of a test or a command is never part of the user's prompt; it is attached, as data.
const FIX_COMMAND = t(
  "Fix what makes the attached command of the terminal fail. Find the cause, and check the result.",
);
const FIX_TEST = t(
  "Fix the attached failing test. Find the cause, in the code or in the test; then run the test.",
);

/** The handlers of both commands. */
export function fixCommands(
  chat: ChatLink,
  terminals: LastCommands,
): Readonly<Record<string, Handler>> {
  return {
    "indwell.fixCommand": () => fixCommand(chat, terminals.last),
    "indwell.addCommandToChat": async () => {
      await chat.perform({ type: "attachText", ...told(terminals.last) });
      await chat.show(true);
    },
    "indwell.fixTest": (...args) => fixTest(chat, args),
  };
}

function told(run: CommandRun | null): { readonly label: string; readonly text: string } {
  if (run === null)
    throw new Error(
      t(
        "No command of a terminal is known. Run it in a terminal with shell integration, or mark its output and add that to the chat.",
      ),
    );
  return { label: runLabel(run), text: runText(run) };
}

async function fixCommand(chat: ChatLink, run: CommandRun | null): Promise<void> {
  const { label, text } = told(run);
  chat.ask(FIX_COMMAND, [{ kind: "text", id: `command:${label}`, label, text }]);
  await chat.show(true);
}

/**
 * Fixes a test; the argument is a test of the test explorer, or a message of its result with its
 * test.
 */
async function fixTest(chat: ChatLink, [given]: readonly unknown[]): Promise<void> {
  const { test, message } = failedTest(given);
  const label = t("Test: {0}", test.label);
  const text = boundedText(testText(plainTest(test, message)));
  const own: Attachment[] = [{ kind: "text", id: `test:${test.id}`, label, text }];
  if (test.uri?.scheme === "file" && test.range !== undefined) {
    const { start, end } = test.range;
    const { value, label: lines } = linesMention(
      relativePath(test.uri),
      start.line,
      end.line,
      end.character,
    );
    own.push({ kind: "mention", id: `mention:${value}`, label: lines, path: value });
  }
  chat.ask(FIX_TEST, own);
  await chat.show(true);
}

interface Failed {
  readonly test: vscode.TestItem;
  readonly message: vscode.TestMessage | null;
}

function failedTest(given: unknown): Failed {
  if (isTest(given)) return { test: given, message: null };
  if (typeof given === "object" && given !== null && "test" in given && isTest(given.test)) {
    const message = "message" in given && isMessage(given.message) ? given.message : null;
    return { test: given.test, message };
  }
  throw new Error(t("Choose a test in the test explorer."));
}

function isTest(given: unknown): given is vscode.TestItem {
  return typeof given === "object" && given !== null && "id" in given && "label" in given;
}

function isMessage(given: unknown): given is vscode.TestMessage {
  return typeof given === "object" && given !== null && "message" in given;
}

function plainTest(test: vscode.TestItem, message: vscode.TestMessage | null): FailedTest {
  const names: string[] = [];
  for (let one: vscode.TestItem | undefined = test; one !== undefined; one = one.parent)
    names.unshift(one.label);
  const said = message?.message;
  const where = message?.location ?? null;
  return {
    names,
    place: placeOf(test.uri, test.range?.start.line),
    message: typeof said === "string" ? said : (said?.value ?? ""),
    expected: message?.expectedOutput ?? null,
    actual: message?.actualOutput ?? null,
    failedAt: where === null ? "" : placeOf(where.uri, where.range.start.line),
    stack: (message?.stackTrace ?? []).map(
      ({ label, uri, position }) => `${label} (${placeOf(uri, position?.line)})`,
    ),
  };
}

function placeOf(uri: vscode.Uri | undefined, line: number | undefined): string {
  if (uri === undefined) return "";
  const path = uri.scheme === "file" ? relativePath(uri) : nameOf(uri.path);
  return line === undefined ? path : `${path}:${line + 1}`;
}
