/** Collects the data for suggestions, and reports changed suggestions. */
import * as vscode from "vscode";
import type { Suggestion } from "../../shared/state/state.ts";
import { type Surroundings, suggestions } from "../../shared/suggestions.ts";
import { gitState, repositoryOf } from "./git.ts";

const SETTLE_MS = 700;
const FUNCTIONS: ReadonlySet<vscode.SymbolKind> = new Set([
  vscode.SymbolKind.Function,
  vscode.SymbolKind.Method,
]);
const KINDS: ReadonlySet<vscode.SymbolKind> = new Set([...FUNCTIONS, vscode.SymbolKind.Class]);

/** A viewer that may or may not show suggestions. */
export interface Onlooker {
  /** Returns whether the suggestions are visible; otherwise no data is collected. */
  readonly isLooking: () => boolean;
  /** Fires when the suggestions become visible again. */
  readonly onDidReturn: vscode.Event<void>;
}

/**
 * Calls `onChange` with the suggestions now, and again whenever the open file, its problems or the
 * repository change the suggestions while they are visible. When the suggestions become visible
 * again, `onChange` is called at once if they changed.
 */
export function watchSuggestions(
  onChange: (found: readonly Suggestion[]) => void,
  onlooker: Onlooker,
): vscode.Disposable {
  let timer: NodeJS.Timeout | undefined;
  let told = "";
  let run = 0;
  let repository: vscode.Disposable | undefined;
  const look = async () => {
    if (!onlooker.isLooking()) return;
    const mine = ++run;
    const around = await surroundings();
    if (mine !== run) return;
    const found = suggestions(around);
    const now = JSON.stringify(found);
    if (now === told) return;
    told = now;
    onChange(found);
  };
  const soon = () => {
    clearTimeout(timer);
    timer = setTimeout(() => void look(), SETTLE_MS);
  };
  const follow = () => {
    repository?.dispose();
    repository = repositoryOf(vscode.window.activeTextEditor?.document.uri)?.state.onDidChange(
      soon,
    );
    soon();
  };
  follow();
  return vscode.Disposable.from(
    vscode.window.onDidChangeActiveTextEditor(follow),
    vscode.languages.onDidChangeDiagnostics(soon),
    vscode.extensions.onDidChange(follow),
    onlooker.onDidReturn(() => void look()),
    {
      dispose: () => {
        run += 1;
        clearTimeout(timer);
        repository?.dispose();
      },
    },
  );
}

async function surroundings(): Promise<Surroundings> {
  const document = vscode.window.activeTextEditor?.document;
  const open = document?.uri.scheme === "file" ? document : undefined;
  const repository = repositoryOf(open?.uri);
  return {
    file: open === undefined ? null : await fileOf(open),
    elsewhere: elsewhere(open?.uri),
    git: repository === null ? null : gitState(repository),
  };
}

async function fileOf(document: vscode.TextDocument): Promise<Surroundings["file"]> {
  const seen = vscode.languages.getDiagnostics(document.uri).filter(isOthers);
  const count = (severity: vscode.DiagnosticSeverity) =>
    seen.filter((one) => one.severity === severity).length;
  return {
    path: vscode.workspace.asRelativePath(document.uri, false),
    errors: count(vscode.DiagnosticSeverity.Error),
    warnings: count(vscode.DiagnosticSeverity.Warning),
    symbols: await symbolsOf(document.uri),
  };
}

function elsewhere(uri: vscode.Uri | undefined): Surroundings["elsewhere"] {
  const numbers = vscode.languages
    .getDiagnostics()
    .filter(([other]) => other.scheme === "file" && other.toString() !== uri?.toString())
    .map(([, found]) => found.filter((one) => isOthers(one) && isError(one)).length)
    .filter((number) => number > 0);
  return { errors: numbers.reduce((sum, number) => sum + number, 0), files: numbers.length };
}

/**
 * Returns the symbols of a document, the largest first, or an empty list if no language server
 * answers.
 */
async function symbolsOf(
  uri: vscode.Uri,
): Promise<readonly { readonly name: string; readonly isFunction: boolean }[]> {
  try {
    const found = await vscode.commands.executeCommand<
      readonly vscode.DocumentSymbol[] | undefined
    >("vscode.executeDocumentSymbolProvider", uri);
    return (found ?? [])
      .filter((one) => KINDS.has(one.kind))
      .map((one) => ({
        name: one.name,
        isFunction: FUNCTIONS.has(one.kind),
        lines: one.range.end.line - one.range.start.line,
      }))
      .sort((one, other) => other.lines - one.lines)
      .map(({ name, isFunction }) => ({ name, isFunction }));
  } catch {
    return []; // The provider of another extension failed; other suggestions remain.
  }
}

function isOthers(problem: vscode.Diagnostic): boolean {
  return problem.source !== "indwell";
}

function isError(problem: vscode.Diagnostic): boolean {
  return problem.severity === vscode.DiagnosticSeverity.Error;
}
