/**
 * Sends the user's focus and selection to the server, 150 ms after the last change, and chooses the
 * documents that are sent: those that the user works on, and not only looks at.
 */
import * as vscode from "vscode";
import type { LanguageClient } from "vscode-languageclient/node";
import { type Looked, NOTHING_TOLD, news, type PlainRange, type Told } from "./attention.ts";
import { CALM, disturbed, due, type Quiet } from "./quiet.ts";

const WORKED_ON: ReadonlySet<string> = new Set(["file", "untitled", "vscode-notebook-cell"]);

/**
 * Returns whether a document of this URI scheme is the user's work, and not the output of a program
 * or one side of a diff.
 */
export function isWork(scheme: string): boolean {
  return WORKED_ON.has(scheme);
}

const REST_MS = 150;
/** Milliseconds after which the selection is sent even during a long drag. */
const MOST_MS = 1_000;

/** Starts watching, which lasts as long as one server process. */
export function watchAttention(client: LanguageClient): vscode.Disposable {
  let told: Told = NOTHING_TOLD;
  let quiet: Quiet = CALM;
  let timer: NodeJS.Timeout | undefined;

  const look = (): void => {
    timer = undefined;
    const left = due(quiet, Date.now(), REST_MS, MOST_MS);
    if (left === null) return;
    if (left > 0) {
      timer = setTimeout(look, left);
      return;
    }
    quiet = CALM;
    const looked = looksAt(told);
    if (looked === undefined) return;
    const found = news(told, looked);
    told = found.told;
    if (found.focus !== undefined) void tell("indwell/didFocus", { uri: found.focus });
    if (found.selection !== undefined) void tell("indwell/didChangeSelection", found.selection);
  };
  // A client that is shutting down refuses notifications; the next process gets everything again.
  const tell = (method: string, params: object): Promise<void> =>
    client.sendNotification(method, params).catch(() => undefined);
  const disturb = (): void => {
    quiet = disturbed(quiet, Date.now());
    timer ??= setTimeout(look, REST_MS);
  };

  disturb();
  return vscode.Disposable.from(
    vscode.window.onDidChangeActiveTextEditor(disturb),
    vscode.window.onDidChangeTextEditorSelection((event) => {
      if (event.textEditor === vscode.window.activeTextEditor) disturb();
    }),
    vscode.workspace.onDidChangeTextDocument((event) => {
      if (event.document === vscode.window.activeTextEditor?.document) disturb();
    }),
    vscode.workspace.onDidCloseTextDocument(disturb),
    new vscode.Disposable(() => clearTimeout(timer)),
  );
}

/**
 * Returns undefined if the user looks at an output or one side of a diff; the previous document
 * then counts.
 */
function looksAt(told: Told): Looked | null | undefined {
  const editor = vscode.window.activeTextEditor;
  if (editor === undefined) {
    // A panel in an editor tab has the focus, so the previous document counts if that document is
    // still visible.
    const isOpen = vscode.window.visibleTextEditors.some(
      (one) => one.document.uri.toString() === told.focus,
    );
    return isOpen ? undefined : null;
  }
  if (!isWork(editor.document.uri.scheme)) return undefined;
  return {
    uri: editor.document.uri.toString(),
    version: editor.document.version,
    ranges: editor.selections.map(plainRange),
  };
}

/** Converts a range for the protocol. */
export function plainRange(range: vscode.Range): PlainRange {
  return {
    start: { line: range.start.line, character: range.start.character },
    end: { line: range.end.line, character: range.end.character },
  };
}
