/** Sends the problems of documents to the server: debounced, only changes, limited. */
import * as vscode from "vscode";
import type { LanguageClient } from "vscode-languageclient/node";
import { CALM, disturbed, due, type Quiet } from "./quiet.ts";
import { isWork } from "./told-documents.ts";
import { type ProblemWatch, toldOf } from "./watch-problems.ts";

const REST_MS = 300;
const MOST_MS = 2_000;
/** The number of documents in one batch; the others follow after a pause. */
const MOST_AT_ONCE = 100;
/** The maximum number of documents whose sent problems are remembered. */
const MOST_REMEMBERED = 5_000;

/** Starts sending, which lasts as long as one server process. */
export function pushProblems(client: LanguageClient, watch: ProblemWatch): vscode.Disposable {
  const told = new Map<string, string>();
  const waiting = new Map<string, vscode.Uri>();
  let quiet: Quiet = CALM;
  let timer: NodeJS.Timeout | undefined;

  const enqueue = (uris: readonly vscode.Uri[]): void => {
    for (const uri of uris) if (isWork(uri.scheme)) waiting.set(uri.toString(), uri);
    if (waiting.size === 0) return;
    quiet = disturbed(quiet, Date.now());
    timer ??= setTimeout(flush, REST_MS);
  };
  const flush = (): void => {
    timer = undefined;
    const left = due(quiet, Date.now(), REST_MS, MOST_MS);
    if (left === null) return;
    if (left > 0) {
      timer = setTimeout(flush, left);
      return;
    }
    quiet = CALM;
    for (const [name, uri] of [...waiting].slice(0, MOST_AT_ONCE)) {
      waiting.delete(name);
      push(name, uri);
    }
    if (waiting.size > 0) enqueue([]);
  };
  const push = (name: string, uri: vscode.Uri): void => {
    const problems = toldOf(client, watch, uri);
    const mark = problems.sources.length === 0 ? "[]" : JSON.stringify(problems);
    if (mark === (told.get(name) ?? "[]")) return;
    told.delete(name);
    told.set(name, mark);
    const oldest = told.size > MOST_REMEMBERED ? told.keys().next() : undefined;
    if (oldest !== undefined && oldest.done !== true) told.delete(oldest.value);
    const params = { uri: name, ...problems };
    client.sendNotification("indwell/didChangeDiagnostics", params).catch(() => undefined);
  };

  enqueue(vscode.languages.getDiagnostics().map(([uri]) => uri));
  return vscode.Disposable.from(
    watch.onReport(enqueue),
    new vscode.Disposable(() => clearTimeout(timer)),
  );
}
