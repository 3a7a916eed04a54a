/** Reads the problems of a document from all servers but Indwell. */
import * as vscode from "vscode";

/** The `source` of Indwell's own hints. */
const OWN_SOURCE = "indwell";
/** The maximum number of problems of one document, as in the server. Errors come first. */
export const MOST_PROBLEMS = 1_000;

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
