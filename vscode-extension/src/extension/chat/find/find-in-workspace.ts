/**
 * Finds the rows for `@`: problems, changes, selection, terminal, files, folders and symbols. Names
 * of files and folders are relative to the workspace's first folder, as in the server.
 */
import * as vscode from "vscode";
import { plural, t } from "../../../shared/l10n.ts";
import { type FoundRow, mentionQuery } from "../../../shared/messages.ts";
import { mentionPath, nameOf } from "../../editor/attach/mention.ts";
import { selected } from "../../editor/attach/selection.ts";
import { repositoryOf } from "../../suggestions/git.ts";
import type { Finding } from "../ports.ts";
import { foldersOf, isAside, leftOut, noSymbols, ranked, sourceFirst } from "./rank.ts";

/** Returns the path for a mention, or null for a file outside of all open folders. */
function mentionOf(uri: vscode.Uri): string | null {
  if (uri.scheme !== "file" || vscode.workspace.getWorkspaceFolder(uri) === undefined) return null;
  const first = vscode.workspace.workspaceFolders?.[0]?.uri.path ?? null;
  return mentionPath(uri.path, first);
}

/** Returns mentions for dropped URIs, in order, without files that are outside or missing. */
export async function mentionsOf(
  uris: readonly string[],
): Promise<readonly { readonly value: string; readonly label: string }[]> {
  const found = await Promise.all(uris.map(mention));
  return found.flatMap((one) => (one === null ? [] : [one]));
}

async function mention(raw: string): Promise<{ value: string; label: string } | null> {
  try {
    const uri = raw.startsWith("/") ? vscode.Uri.file(raw) : vscode.Uri.parse(raw, true);
    const path = mentionOf(uri);
    if (path === null) return null;
    const { type } = await vscode.workspace.fs.stat(uri);
    const isFolder = (type & vscode.FileType.Directory) !== 0;
    return { value: isFolder ? `${path}/` : path, label: nameOf(path) + (isFolder ? "/" : "") };
  } catch {
    return null;
  }
}

const MOST_FILES = 20_000;
const MOST_ROWS = 50;
const MOST_SYMBOLS = 15;
/** Milliseconds for which a list of files is cached. */
const FRESH_MS = 4000;
/**
 * How long the other rows wait for symbols, in milliseconds, because a language server may start
 * slowly.
 */
const SYMBOLS_MS = 400;

let listed: { readonly at: number; readonly paths: Thenable<readonly string[]> } | undefined;

/** Returns at most `limit` matching rows, or an empty list once `signal` has fired. */
export async function findInWorkspace(
  typed: string,
  signal: AbortSignal,
  lastCommand: Finding["lastCommand"],
): Promise<readonly FoundRow[]> {
  const cancel = new vscode.CancellationTokenSource();
  signal.addEventListener("abort", () => cancel.cancel(), { once: true });
  const { only, query } = mentionQuery(typed);
  if (only === "symbol") {
    const found = ranked(await symbolRows(query, MOST_ROWS, cancel.token), query, MOST_ROWS);
    return signal.aborted || found.length > 0 ? found : [noSymbols(query)];
  }
  const symbols =
    query.length > 1 && only === null
      ? soon(symbolRows(query, MOST_SYMBOLS, cancel.token))
      : Promise.resolve([]);
  const paths = await files();
  if (signal.aborted) return [];
  const folders = foldersOf(paths, otherFolders());
  const folderRows = sourceFolders(folders).map(folderRow);
  if (only === "folder") return ranked(folderRows, query, MOST_ROWS);
  const open = openPaths();
  const isOpen = new Set(open);
  const files_ = [...open, ...paths.filter((path) => !isOpen.has(path))].map(fileRow);
  const [problems, ...problemsOfFiles] = problemRows();
  const state = [
    ...(problems === undefined ? [] : [problems]),
    ...changesRows(),
    ...selectionRows(),
    ...terminalRows(lastCommand()),
    ...(folders.length > 0 ? [NARROW_FOLDER] : []),
    NARROW_SYMBOL,
  ];
  const rest = query === "" ? files_ : [...problemsOfFiles, ...files_, ...folderRows];
  return ranked([...state, ...rest, ...(await symbols)], query, MOST_ROWS);
}

const NARROW_FOLDER: FoundRow = {
  kind: "narrow",
  label: t("folder"),
  detail: t("choose a folder"),
  value: "folder:",
};
const NARROW_SYMBOL: FoundRow = {
  kind: "narrow",
  label: t("symbol"),
  detail: t("choose a symbol"),
  value: "symbol:",
};

/** Returns the rows, or no rows if they take too long. */
async function soon(rows: Promise<readonly FoundRow[]>): Promise<readonly FoundRow[]> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<readonly FoundRow[]>((resolve) => {
    timer = setTimeout(() => resolve([]), SYMBOLS_MS);
  });
  return Promise.race([rows, late]).finally(() => clearTimeout(timer));
}

/** Sorts hidden and generated folders to the end. */
function sourceFolders(folders: readonly string[]): readonly string[] {
  return [...folders.filter((one) => !isAside(one)), ...folders.filter(isAside)];
}

/**
 * Returns file paths relative to the folder, without the editor's excludes; cached for a few
 * keystrokes.
 */
function files(): Thenable<readonly string[]> {
  const now = Date.now();
  if (listed === undefined || now - listed.at > FRESH_MS) {
    const setting = (name: string): unknown =>
      vscode.workspace.getConfiguration(name).get("exclude");
    const exclude = leftOut(setting("files"), setting("search"));
    const paths = vscode.workspace
      .findFiles("**/*", exclude, MOST_FILES)
      .then(notIgnored)
      .then((uris) => sourceFirst(uris.map(pathOf)));
    listed = { at: now, paths };
  }
  return listed.paths;
}

/** Leaves out files that git ignores; keeps all files if git cannot answer. */
async function notIgnored(uris: readonly vscode.Uri[]): Promise<readonly vscode.Uri[]> {
  const repository = repositoryOf(vscode.workspace.workspaceFolders?.[0]?.uri);
  if (repository?.checkIgnore === undefined) return uris;
  try {
    const ignored = await repository.checkIgnore(uris.map((uri) => uri.fsPath));
    return uris.filter((uri) => !ignored.has(uri.fsPath));
  } catch {
    return uris;
  }
}

function otherFolders(): readonly string[] {
  return (vscode.workspace.workspaceFolders ?? []).slice(1).map(({ uri }) => uri.path);
}

function openPaths(): readonly string[] {
  const tabs = vscode.window.tabGroups.all.flatMap((group) => group.tabs);
  const uris = tabs.flatMap(({ input }) =>
    input instanceof vscode.TabInputText && input.uri.scheme === "file" ? [input.uri] : [],
  );
  const inside = uris.filter((uri) => vscode.workspace.getWorkspaceFolder(uri) !== undefined);
  return [...new Set(inside.map(pathOf))];
}

function pathOf(uri: vscode.Uri): string {
  return mentionOf(uri) ?? uri.fsPath;
}

function fileRow(path: string): FoundRow {
  const cut = path.lastIndexOf("/");
  return { kind: "file", label: path.slice(cut + 1), detail: path.slice(0, cut + 1), value: path };
}

function folderRow(path: string): FoundRow {
  const name = path.slice(path.lastIndexOf("/", path.length - 2) + 1);
  return { kind: "folder", label: name, detail: path, value: path };
}

function problemRows(): readonly FoundRow[] {
  const all = vscode.languages
    .getDiagnostics()
    .map(([uri, found]) => ({ uri, count: found.filter((one) => one.source !== "indwell").length }))
    .filter((one) => one.count > 0 && mentionOf(one.uri) !== null);
  if (all.length === 0) return [];
  const total = all.reduce((sum, one) => sum + one.count, 0);
  const row = (label: string, detail: string, uri: string): FoundRow => ({
    kind: "problems",
    label,
    detail,
    value: `problems:${uri}`,
  });
  const each = all.slice(0, 20).map(({ uri, count }) => {
    const name = pathOf(uri);
    return row(
      t("problems of {0}", name.slice(name.lastIndexOf("/") + 1)),
      counted(count),
      String(uri),
    );
  });
  return [row(t("problems"), t("{0}, all files", counted(total)), ""), ...each];
}

function changesRows(): readonly FoundRow[] {
  if (repositoryOf(vscode.workspace.workspaceFolders?.[0]?.uri) === null) return [];
  const detail = t("what git would commit, or the changes of the tree");
  return [{ kind: "changes", label: t("changes"), detail, value: "changes" }];
}

function selectionRows(): readonly FoundRow[] {
  const chosen = selected();
  if (chosen === null) return [];
  return [{ kind: "selection", label: t("selection"), detail: chosen.label, value: "selection" }];
}

function terminalRows(last: ReturnType<Finding["lastCommand"]>): readonly FoundRow[] {
  const row = (label: string, detail: string, value: string): FoundRow => ({
    kind: "terminal",
    label,
    detail,
    value,
  });
  const marked = t("marked text");
  const detail = last?.label.replace(/^[^:]*: /, "") ?? "";
  const rows = last === null ? [] : [row(t("terminal"), detail, "terminal:last")];
  if (vscode.window.activeTerminal === undefined) return rows;
  return [
    ...rows,
    row(last === null ? t("terminal") : t("terminal selection"), marked, "terminal"),
  ];
}

async function symbolRows(
  query: string,
  most: number,
  token: vscode.CancellationToken,
): Promise<readonly FoundRow[]> {
  try {
    const found = await vscode.commands.executeCommand<vscode.SymbolInformation[] | undefined>(
      "vscode.executeWorkspaceSymbolProvider",
      query,
    );
    if (token.isCancellationRequested) return [];
    return (found ?? [])
      .flatMap(({ name, location, containerName }): FoundRow[] => {
        const path = mentionOf(location.uri);
        if (path === null) return [];
        const [first, last] = [location.range.start.line + 1, location.range.end.line + 1];
        const lines = first === last ? `#L${first}` : `#L${first}-${last}`;
        const detail = containerName ? `${containerName} · ${path}:${first}` : `${path}:${first}`;
        return [{ kind: "symbol", label: name, detail, value: `${path}${lines}` }];
      })
      .slice(0, most);
  } catch {
    return []; // A provider of another extension failed.
  }
}

function counted(count: number): string {
  return plural(count, "{0} problem", "{0} problems");
}
