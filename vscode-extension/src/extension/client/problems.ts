/**
 * The problems of documents, from all servers but Indwell: records when they are reported, sends
 * them to the server (debounced, only changes, limited), and answers `indwell/diagnostics` once the
 * language servers have checked the documents.
 */
import * as vscode from "vscode";
import type { LanguageClient } from "vscode-languageclient/node";
import { CALM, disturbed, due, type Quiet } from "./quiet.ts";
import { type Marks, ProblemClock, settling } from "./settling.ts";
import { isWork } from "./watch-attention.ts";

/** The `source` of Indwell's own hints. */
const OWN_SOURCE = "indwell";
/** The maximum number of problems of one document, as in the server. Errors come first. */
const MOST_PROBLEMS = 1_000;

/** Returns the current problems of `uri`, errors first, at most `MOST_PROBLEMS`. */
export function problemsOf(uri: vscode.Uri): readonly vscode.Diagnostic[] {
  const all = vscode.languages.getDiagnostics(uri).filter((one) => one.source !== OWN_SOURCE);
  if (all.length <= MOST_PROBLEMS) return all;
  return all.sort((a, b) => a.severity - b.severity).slice(0, MOST_PROBLEMS);
}

/** Returns the problems that touch the lines of a range. */
export function problemsIn(uri: vscode.Uri, range: vscode.Range): readonly vscode.Diagnostic[] {
  return problemsOf(uri).filter(
    (one) => one.range.start.line <= range.end.line && one.range.end.line >= range.start.line,
  );
}

/** The recorded times, and an event for documents whose problems were reported. */
export interface ProblemWatch extends vscode.Disposable {
  readonly clock: ProblemClock;
  readonly onReport: vscode.Event<readonly vscode.Uri[]>;
  /**
   * Called when Indwell itself is about to show hints in a document, so that VS Code's report of
   * the hints is ignored.
   */
  readonly own: (uri: vscode.Uri) => void;
}

/** VS Code collects reports for 50 ms; later reports come from other servers. */
const OWN_MS = 150;
/**
 * The name of a checker that does not name itself; the server uses the same name for an editor as a
 * whole.
 */
const UNNAMED = "the editor's problems";

/** Begins to watch. */
export function watchProblems(): ProblemWatch {
  const clock = new ProblemClock();
  const ownAt = new Map<string, number>();
  const seen = new Map<string, string>();
  const reports = new vscode.EventEmitter<readonly vscode.Uri[]>();
  // Earlier reports show which languages have a server.
  for (const [uri] of vscode.languages.getDiagnostics()) {
    clock.reported(uri.toString(), languageOf(uri), Date.now(), marksOf(uri));
  }
  const isNews = (uri: vscode.Uri): boolean => {
    const name = uri.toString();
    const others = JSON.stringify(problemsOf(uri).map((one) => [one.message, one.range]));
    const before = seen.get(name) ?? "[]";
    if (others === "[]") seen.delete(name);
    else seen.set(name, others);
    const own = ownAt.get(name);
    if (own === undefined) return true;
    if (Date.now() - own > OWN_MS) ownAt.delete(name);
    return others !== before || !ownAt.has(name);
  };
  const watching = vscode.Disposable.from(
    reports,
    vscode.workspace.onDidChangeTextDocument((event) => {
      if (event.contentChanges.length > 0) clock.edited(event.document.uri.toString(), Date.now());
    }),
    vscode.languages.onDidChangeDiagnostics((event) => {
      // Changes of Indwell's own hints say nothing about other checkers.
      const uris = event.uris.filter((uri) => isNews(uri));
      for (const uri of uris) {
        clock.reported(uri.toString(), languageOf(uri), Date.now(), marksOf(uri));
      }
      if (uris.length > 0) reports.fire(uris);
    }),
  );
  return {
    clock,
    onReport: reports.event,
    own: (uri) => ownAt.set(uri.toString(), Date.now()),
    dispose: () => watching.dispose(),
  };
}

type Diagnostics = ReturnType<LanguageClient["code2ProtocolConverter"]["asDiagnosticsSync"]>;

/**
 * The report on a document for the server: each checker with the version that the checker has
 * checked.
 */
interface Told {
  readonly diagnostics: Diagnostics;
  readonly version: number | null;
  readonly sources: readonly {
    readonly name: string;
    readonly diagnostics: Diagnostics;
    readonly version: number | null;
  }[];
}

/**
 * Returns the current problems of `uri` from each checker. Only reports after the last edit belong
 * to the current text.
 */
function toldOf(client: LanguageClient, watch: ProblemWatch, uri: vscode.Uri): Told {
  const name = uri.toString();
  const language = languageOf(uri);
  const { editedAt, reportedAt } = watch.clock.watched(name, language);
  const version = openDocument(uri)?.version ?? null;
  const groups = grouped(uri);
  const sources = watch.clock.checkers(name, language).map((one) => ({
    name: one.name,
    diagnostics: client.code2ProtocolConverter.asDiagnosticsSync([...(groups.get(one.name) ?? [])]),
    version: one.at > editedAt ? version : null,
  }));
  // No checker has ever found a problem in such files, and one checker has reported, so there are
  // no problems.
  const isClean = sources.length === 0 && reportedAt > editedAt;
  return { diagnostics: [], version: isClean ? version : null, sources };
}

/** Returns the problems of `uri` by checker. */
function grouped(uri: vscode.Uri): ReadonlyMap<string, readonly vscode.Diagnostic[]> {
  const groups = new Map<string, vscode.Diagnostic[]>();
  for (const one of problemsOf(uri)) {
    const name = one.source ?? UNNAMED;
    groups.set(name, [...(groups.get(name) ?? []), one]);
  }
  return groups;
}

function marksOf(uri: vscode.Uri): Marks {
  const marks = new Map<string, string>();
  for (const [name, problems] of grouped(uri)) {
    marks.set(name, JSON.stringify(problems.map((one) => [one.message, one.range, one.severity])));
  }
  return marks;
}

/** Returns the document with this URI, if it is open. */
export function openDocument(uri: vscode.Uri): vscode.TextDocument | undefined {
  const wanted = uri.toString();
  return vscode.workspace.textDocuments.find((one) => one.uri.toString() === wanted);
}

/** Returns the language of an open document. */
function languageOf(uri: vscode.Uri): string | undefined {
  return openDocument(uri)?.languageId;
}

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

interface Asked {
  readonly uris: readonly string[];
  /** The time limit of the answer, in seconds. */
  readonly wait: number;
}

/** Registers the handler, which lasts as long as one server process. */
export function answerProblems(client: LanguageClient, watch: ProblemWatch): vscode.Disposable {
  return client.onRequest("indwell/diagnostics", async (asked: Asked, token) => {
    const begun = Date.now();
    const uris = asked.uris.map((one) => client.protocol2CodeConverter.asUri(one));
    const answers = await Promise.all(
      uris.map(async (uri, index) => {
        const isKnown = await known(watch, uri, begun, asked.wait * 1_000, token);
        const told = toldOf(client, watch, uri);
        if (!isKnown && told.sources.length === 0) return [];
        // The answer has the URI as requested, because the server knows the document by that URI.
        return [{ uri: asked.uris[index] ?? uri.toString(), ...told }];
      }),
    );
    return { documents: answers.flat() };
  });
}

async function known(
  watch: ProblemWatch,
  uri: vscode.Uri,
  begun: number,
  wait: number,
  token: vscode.CancellationToken,
): Promise<boolean> {
  const name = uri.toString();
  while (!token.isCancellationRequested) {
    const one = watch.clock.watched(name, languageOf(uri));
    // The edit was sent right before the request, so a document that is not open counts as edited
    // at that time.
    const edited = one.editedAt === 0 && wait > 0 ? { ...one, editedAt: begun } : one;
    const now = settling(edited, begun, Date.now(), wait);
    switch (now.kind) {
      case "known":
        return true;
      case "unknown":
        if (wait > 0) watch.clock.waitedInVain(languageOf(uri));
        return false;
      case "wait":
        await news(watch, name, now.ms, token);
        break;
      default:
        return now satisfies never;
    }
  }
  return false;
}

/** Resolves when the document gets a report, after `ms`, or when the request is cancelled. */
function news(
  watch: ProblemWatch,
  name: string,
  ms: number,
  token: vscode.CancellationToken,
): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      clearTimeout(timer);
      listening.dispose();
      resolve();
    };
    const timer = setTimeout(done, ms);
    const listening = vscode.Disposable.from(
      watch.onReport((uris) => {
        if (uris.some((one) => one.toString() === name)) done();
      }),
      token.onCancellationRequested(done),
    );
  });
}
