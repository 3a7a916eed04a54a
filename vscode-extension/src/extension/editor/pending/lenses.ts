/** Shows the bars at pending changes as code lenses, which move with the text. */
import * as vscode from "vscode";
import { type BarLink, changeBar, fileBar } from "./bar.ts";
import { MOST } from "./marks.ts";
import type { PendingChanges } from "./pending-changes.ts";

const SELECTOR = [{ scheme: "file" }, { scheme: "vscode-notebook-cell" }];

/**
 * Shows a bar at each change, and one at the top of a file, until the returned object is disposed.
 */
export function showBars(pending: PendingChanges): vscode.Disposable {
  const news = new vscode.EventEmitter<void>();
  return vscode.Disposable.from(
    news,
    pending.onChange(() => news.fire()),
    vscode.languages.registerCodeLensProvider(SELECTOR, {
      onDidChangeCodeLenses: news.event,
      provideCodeLenses: (document) => lensesOf(document, pending),
    }),
  );
}

function lensesOf(
  document: vscode.TextDocument,
  pending: PendingChanges,
): readonly vscode.CodeLens[] & vscode.CodeLens[] {
  const own = pending.of(document.uri.toString());
  if (own.length === 0) return [];
  const uri = pending.fileOf(document.uri).toString();
  const isMac = process.platform === "darwin";
  const ids = own.map((one) => one.id);
  const last = Math.max(document.lineCount - 1, 0);
  const place = { uri: document.uri.toString(), total: own.length, all: pending.total, isMac };
  return [
    ...fileBar(ids, uri, pending.undo, isMac).map((link) => lens(0, link)),
    ...own
      .slice(0, MOST)
      .flatMap((one, index) =>
        changeBar(one, { ...place, number: index + 1 }).map((link) =>
          lens(Math.min(one.first, last), link),
        ),
      ),
  ];
}

function lens(line: number, { title, tooltip, command, argument }: BarLink): vscode.CodeLens {
  const range = new vscode.Range(line, 0, line, 0);
  return new vscode.CodeLens(range, { title, tooltip, command, arguments: [argument] });
}
