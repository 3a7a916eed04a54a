/** Tells the server what the user looks at and marks: 150 ms after it has come to rest. */
import * as vscode from "vscode";
import type { LanguageClient } from "vscode-languageclient/node";
import { type Looked, NOTHING_TOLD, news, type PlainRange, type Told } from "./attention.ts";
import { CALM, disturbed, due, type Quiet } from "./quiet.ts";
import { isWork } from "./told-documents.ts";

const REST_MS = 150;
/** Somebody who drags a selection for long is told of in between. */
const MOST_MS = 1_000;

/** For the life of one server process. */
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
  // A client that is just going down refuses; the next process is told anew.
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

/** Undefined: at something that is nobody's work (an output, one side of a diff): the old look counts. */
function looksAt(told: Told): Looked | null | undefined {
  const editor = vscode.window.activeTextEditor;
  if (editor === undefined) {
    // A panel in an editor tab has the focus: what was looked at is still there, if it is.
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

/** A range as the protocol has it. */
export function plainRange(range: vscode.Range): PlainRange {
  return {
    start: { line: range.start.line, character: range.start.character },
    end: { line: range.end.line, character: range.end.character },
  };
}
