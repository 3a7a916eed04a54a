/**
 * Ranks the rows that match the text after `@`, best first; lists folders, and leaves out generated
 * and excluded files. Pure.
 */
import { t } from "../../../shared/l10n.ts";
import type { FoundRow } from "../../../shared/messages.ts";

/**
 * Returns every folder above a file once, with a final `/`; shorter paths come first. Files outside
 * the first folder have absolute paths. `others` are the absolute paths of the other folders;
 * folders above these are not in the workspace.
 */
export function foldersOf(
  paths: readonly string[],
  others: readonly string[] = [],
): readonly string[] {
  const roots = others.map((root) => (root.endsWith("/") ? root : `${root}/`));
  const isInside = (folder: string): boolean =>
    !folder.startsWith("/") || roots.some((root) => folder.startsWith(root));
  const found = new Set<string>();
  for (const path of paths) {
    for (let end = path.lastIndexOf("/"); end > 0; end = path.lastIndexOf("/", end - 1)) {
      const folder = path.slice(0, end + 1);
      if (found.has(folder) || !isInside(folder)) break;
      found.add(folder);
    }
  }
  return [...found].sort((one, other) => parts(one) - parts(other) || (one < other ? -1 : 1));
}

function parts(path: string): number {
  return path.split("/").length;
}

/** Generated folders and files, which are excluded whatever the settings say. */
const MADE = [
  "**/.git/**",
  "**/.venv/**",
  "**/__pycache__/**",
  "**/node_modules/**",
  "**/.mypy_cache/**",
  "**/.pytest_cache/**",
  "**/.ruff_cache/**",
  "**/*.pyc",
  "**/.DS_Store",
];

/**
 * Returns one glob for `findFiles` from `files.exclude`, `search.exclude` and generated files.
 * Settings with a condition (`when`) and disabled settings are ignored. Settings with braces are
 * ignored, too, because groups of a glob cannot be nested.
 */
export function leftOut(...settings: readonly unknown[]): string {
  const globs = new Set(MADE);
  for (const setting of settings) {
    if (typeof setting !== "object" || setting === null) continue;
    for (const [glob, value] of Object.entries(setting)) {
      if (value !== true || /[{},]/.test(glob)) continue;
      globs.add(glob);
      if (!glob.endsWith("*")) globs.add(`${glob.replace(/\/$/, "")}/**`);
    }
  }
  return `{${[...globs].join(",")}}`;
}

/** The factor for the score of a file that the user rarely means. */
const ASIDE = 0.6;

const ASIDE_FOLDER =
  /(?:^|\/)(?:\.[^/]+|dist|build|out|target|vendor|third_party|coverage|node_modules|generated|__generated__|__snapshots__)\//;
const ASIDE_NAME =
  /(?:^|\/)(?:\.[^/]+|go\.sum|[^/]+\.lock|[^/]+[-.]lock\.(?:json|ya?ml)|[^/]+\.min\.(?:js|css)|[^/]+\.map|[^/]+_pb2\.pyi?|[^/]+\.pb\.go|[^/]+\.g(?:enerated)?\.[a-z]+)$/;

/** Returns whether a file is hidden or generated, so that it comes after the source files. */
export function isAside(path: string): boolean {
  return ASIDE_FOLDER.test(path) || ASIDE_NAME.test(path);
}

/**
 * Sorts paths for a list without a query: source files, then hidden and generated files, each by
 * name.
 */
export function sourceFirst(paths: readonly string[]): readonly string[] {
  const sorted = paths.toSorted();
  return [...sorted.filter((path) => !isAside(path)), ...sorted.filter(isAside)];
}

/** Scores a row by its label and path; an exact name comes first. */
export function ranked(
  rows: readonly FoundRow[],
  query: string,
  most: number,
): readonly FoundRow[] {
  if (query === "") return rows.slice(0, most);
  const scored = rows.flatMap((row, place) => {
    const score = rowScore(query, row);
    return score > 0 ? [{ row, score, place }] : [];
  });
  scored.sort((one, other) => other.score - one.score || one.place - other.place);
  return scored.slice(0, most).map((one) => one.row);
}

function rowScore(query: string, { kind, label, detail, value }: FoundRow): number {
  const name = scoreOf(query, label) * 2;
  const share = isFile(kind) && isAside(value) ? ASIDE : 1;
  if (isNameOf(query, label)) return EXACT + name * share;
  // The detail of a symbol is its file: a user who types a file's name means the file.
  return (kind === "symbol" ? name : Math.max(name, scoreOf(query, detail))) * share;
}

/** A score above all other scores. */
const EXACT = 1000;

function isFile(kind: FoundRow["kind"]): boolean {
  return kind === "file" || kind === "folder" || kind === "symbol";
}

/** Returns whether the query is the whole name, with or without its extension. */
function isNameOf(query: string, label: string): boolean {
  const wanted = query.toLowerCase().replace(/\/$/, "");
  const name = label.toLowerCase().replace(/\/$/, "");
  return wanted !== "" && (name === wanted || name.replace(/(?<=.)\.[^.]*$/, "") === wanted);
}

/**
 * Returns a score, which is 0 if the text does not match. Consecutive letters rank above scattered
 * ones, beginnings of words above middles, and short texts above long ones.
 */
function scoreOf(query: string, text: string): number {
  const wanted = query.toLowerCase();
  const there = text.toLowerCase();
  const short = 1 / (1 + there.length);
  const run = there.lastIndexOf(wanted);
  if (run >= 0)
    return 100 + (beginsWord(there, run) ? 50 : 0) + (there === wanted ? 50 : 0) + short;
  let from = 0;
  let score = 0;
  for (const letter of wanted) {
    const place = there.indexOf(letter, from);
    if (place < 0) return 0;
    score += beginsWord(there, place) ? 4 : place === from ? 2 : 0.5;
    from = place + letter.length;
  }
  return score + short;
}

function beginsWord(text: string, place: number): boolean {
  return place === 0 || !/[\p{L}\p{N}]/u.test(text[place - 1] ?? "");
}

/** Returns the row that replaces an empty list of symbols; the row only says what to do. */
export function noSymbols(query: string): FoundRow {
  const detail =
    query === ""
      ? t("Type a part of the name. An extension for your language finds symbols.")
      : t("No extension for your language finds one of this name. Use a file instead.");
  return { kind: "narrow", label: t("No symbols"), detail, value: `symbol:${query}` };
}
