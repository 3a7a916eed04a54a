/**
 * Tracks the pending changes of the workspace by document. The changes move with the text until the
 * server reports them again.
 */
import * as vscode from "vscode";
import type { ChangeRow } from "../../../protocol.ts";
import { openDocument } from "../../client/problems.ts";
import type { ChatLink } from "../chat-link.ts";
import { inCells } from "./cells.ts";
import type { Stop } from "./neighbours.ts";
import { countBreaks, moved, type PendingLines, pendingLines, settled } from "./pending-lines.ts";

/** The current pending changes. URIs are in the form of `vscode.Uri`. */
export class PendingChanges implements vscode.Disposable {
  private readonly byUri = new Map<string, readonly PendingLines[]>();
  private readonly news = new vscode.EventEmitter<ReadonlySet<string>>();
  private readonly listening: vscode.Disposable;
  /** The cells of open notebooks: the notebook's URI by the cell's URI. */
  private readonly cells = new Map<string, string>();
  private taken: readonly ChangeRow[] = [];
  private said = "";

  /** Fires with the URIs of documents whose changes differ or moved. */
  readonly onChange = this.news.event;

  constructor(private readonly chat: ChatLink) {
    this.listening = vscode.Disposable.from(
      this.news,
      chat.onDidChangeState(() => this.take()),
      vscode.workspace.onDidChangeTextDocument((event) => this.follow(event)),
      vscode.workspace.onDidOpenNotebookDocument((one) => this.takeAgain(one)),
      vscode.workspace.onDidCloseNotebookDocument((one) => this.takeAgain(one)),
      vscode.workspace.onDidChangeNotebookDocument(({ notebook, contentChanges }) => {
        if (contentChanges.length > 0) this.takeAgain(notebook);
      }),
    );
    this.take();
  }

  /** The latest rows from the server. */
  get rows(): readonly ChangeRow[] {
    return this.taken;
  }

  /** The number of pending changes in the workspace. */
  get total(): number {
    return this.chat.state.pending.total;
  }

  /** A phrase about the accept or reject that can be undone; may be empty. */
  get undo(): string {
    return this.chat.state.pending.undo;
  }

  /** Returns the file of a document; for a cell, the file of its notebook. */
  fileOf(uri: vscode.Uri): vscode.Uri {
    const notebook = this.cells.get(uri.toString());
    return notebook === undefined ? uri : vscode.Uri.parse(notebook);
  }

  /** Returns the pending changes of one document. */
  of(uri: string): readonly PendingLines[] {
    return this.byUri.get(uri) ?? [];
  }

  /** Paths of all documents with pending changes. */
  get paths(): readonly string[] {
    const files = [...this.byUri.keys()].filter((uri) => !this.cells.has(uri));
    return files.map((uri) => vscode.Uri.parse(uri).fsPath);
  }

  /** The positions of the changes, file by file; a deleted file has no position. */
  get stops(): readonly Stop[] {
    const notebooks = new Set(this.cells.values());
    const shown = [...this.byUri].filter(([uri]) => !notebooks.has(uri));
    return shown.flatMap(([uri, pending]) =>
      pending
        .filter((one) => one.kind !== "delete")
        .map((one) => ({ id: one.id, uri, line: one.first, count: one.count })),
    );
  }

  dispose(): void {
    this.listening.dispose();
  }

  private take(): void {
    const { rows, undo } = this.chat.state.pending;
    if (rows === this.taken && undo === this.said) return;
    this.said = undo;
    this.taken = rows;
    const touched = new Set(this.byUri.keys());
    this.byUri.clear();
    this.cells.clear();
    for (const [uri, own] of grouped(rows)) {
      const pending = placed(uri, own);
      this.byUri.set(uri, pending);
      this.takeCells(uri, pending);
    }
    for (const uri of this.byUri.keys()) touched.add(uri);
    this.news.fire(touched);
  }

  private takeAgain(notebook: vscode.NotebookDocument): void {
    if (!this.byUri.has(notebook.uri.toString())) return;
    this.taken = [];
    this.take();
  }

  private takeCells(uri: string, pending: readonly PendingLines[]): void {
    const open = vscode.workspace.notebookDocuments.find((one) => one.uri.toString() === uri);
    const cells = open?.getCells().map((cell) => cell.document) ?? [];
    const sizes = cells.map((document) => document.lineCount);
    for (const { cell, change } of pending.flatMap((one) => inCells(one, sizes))) {
      const own = cells[cell]?.uri.toString();
      if (own === undefined) continue;
      this.cells.set(own, uri);
      this.byUri.set(own, [...(this.byUri.get(own) ?? []), change]);
    }
  }

  private follow(event: vscode.TextDocumentChangeEvent): void {
    const uri = event.document.uri.toString();
    const before = this.byUri.get(uri);
    if (before === undefined || event.contentChanges.length === 0) return;
    let now = before;
    for (const change of event.contentChanges) {
      now = moved(now, {
        first: change.range.start.line,
        last: change.range.end.line,
        lastCharacter: change.range.end.character,
        added: countBreaks(change.text),
      });
    }
    if (now === before) return;
    this.byUri.set(uri, now);
    this.news.fire(new Set([uri]));
  }
}

function grouped(rows: readonly ChangeRow[]): ReadonlyMap<string, readonly ChangeRow[]> {
  const found = new Map<string, ChangeRow[]>();
  for (const row of rows) {
    // The server may write a URI differently from VS Code; one form makes them comparable.
    const uri = vscode.Uri.parse(row.uri).toString();
    const own = found.get(uri);
    if (own === undefined) found.set(uri, [row]);
    else own.push(row);
  }
  return found;
}

/**
 * Places the rows, which may belong to a slightly older text, by comparing them with the open
 * document.
 */
function placed(uri: string, rows: readonly ChangeRow[]): readonly PendingLines[] {
  const document = openDocument(vscode.Uri.parse(uri));
  return rows.map((row) => {
    const one = pendingLines(row);
    if (document === undefined) return one;
    return settled(one, row.new, (line) =>
      line < document.lineCount ? document.lineAt(line).text : undefined,
    );
  });
}
