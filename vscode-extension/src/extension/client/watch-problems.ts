/** Records the times of edits and reports, as long as the window lives. */
import * as vscode from "vscode";
import type { LanguageClient } from "vscode-languageclient/node";
import { type Marks, ProblemClock } from "./problem-clock.ts";
import { problemsOf } from "./problems.ts";

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
export interface Told {
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
export function toldOf(client: LanguageClient, watch: ProblemWatch, uri: vscode.Uri): Told {
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
export function languageOf(uri: vscode.Uri): string | undefined {
  return openDocument(uri)?.languageId;
}
