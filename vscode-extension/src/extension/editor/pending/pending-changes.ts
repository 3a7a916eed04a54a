/** The pending changes of the workspace by document; they move with the text until the server is asked again. */
import * as vscode from "vscode";
import type { ChangeRow } from "../../../protocol.ts";
import { openDocument } from "../../client/watch-problems.ts";
import type { ChatLink } from "../chat-link.ts";
import type { Stop } from "./neighbours.ts";
import { countBreaks, moved, type PendingLines, pendingLines, settled } from "./pending-lines.ts";

/** The current pending changes. URIs are in the form of `vscode.Uri`. */
export class PendingChanges implements vscode.Disposable {
  private readonly byUri = new Map<string, readonly PendingLines[]>();
  private readonly news = new vscode.EventEmitter<ReadonlySet<string>>();
  private readonly listening: vscode.Disposable;
  private taken: readonly ChangeRow[] = [];

  /** Fires with the URIs of documents whose changes differ or moved. */
  readonly onChange = this.news.event;

  constructor(private readonly chat: ChatLink) {
    this.listening = vscode.Disposable.from(
      this.news,
      chat.onDidChangeState(() => this.take()),
      vscode.workspace.onDidChangeTextDocument((event) => this.follow(event)),
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

  /** The pending changes of one document. */
  of(uri: string): readonly PendingLines[] {
    return this.byUri.get(uri) ?? [];
  }

  /** Paths of all documents with pending changes. */
  get paths(): readonly string[] {
    return [...this.byUri.keys()].map((uri) => vscode.Uri.parse(uri).fsPath);
  }

  /** Places of the changes, file by file; a deleted file has none. */
  get stops(): readonly Stop[] {
    return [...this.byUri].flatMap(([uri, pending]) =>
      pending
        .filter((one) => one.kind !== "delete")
        .map((one) => ({ id: one.id, uri, line: one.first, count: one.count })),
    );
  }

  dispose(): void {
    this.listening.dispose();
  }

  private take(): void {
    const rows = this.chat.state.pending.rows;
    if (rows === this.taken) return;
    this.taken = rows;
    const touched = new Set(this.byUri.keys());
    this.byUri.clear();
    for (const [uri, own] of grouped(rows)) {
      touched.add(uri);
      this.byUri.set(uri, placed(uri, own));
    }
    this.news.fire(touched);
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

/** The rows may belong to a slightly older text, so they are compared with the open document. */
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
