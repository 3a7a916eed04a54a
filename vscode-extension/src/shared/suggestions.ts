/**
 * Suggests three prompts in an empty panel. Pure. Names of files, symbols and branches come from
 * the repository, so they are shortened and their hidden characters shown. The whole prompt is
 * shown before it is sent.
 */
import type { Suggestion } from "./state.ts";
import { visible } from "./visible.ts";

/** The data from the editor. */
export interface Surroundings {
  /** The open file, or null if no file is open. */
  readonly file: {
    /** The path relative to the file's folder, with slashes. */
    readonly path: string;
    readonly errors: number;
    readonly warnings: number;
    /** Functions and classes, the largest first. */
    readonly symbols: readonly { readonly name: string; readonly isFunction: boolean }[];
  } | null;
  /** The number of errors in files other than the open one, and the number of such files. */
  readonly elsewhere: { readonly errors: number; readonly files: number };
  /**
   * The state of the repository, or null if there is no repository; `changed` is the number of
   * files that are new or differ from the last commit.
   */
  readonly git: { readonly branch: string; readonly changed: number } | null;
}

const MOST = 3;
const TRUNKS: ReadonlySet<string> = new Set(["main", "master", "trunk", "develop", "dev"]);
const NAME_LIMIT = 40;

/** Returns at most three suggestions, the most urgent first, and never two of one kind. */
export function suggestions(around: Surroundings): readonly Suggestion[] {
  const { file, git } = around;
  const found = [
    ...problems(around),
    ...(git === null ? [] : changes(git)),
    ...(file === null ? [] : ofFile(file)),
    ...general(),
  ];
  return found.slice(0, MOST);
}

function problems({ file, elsewhere }: Surroundings): readonly Suggestion[] {
  if (file !== null && file.errors + file.warnings > 0) {
    const what = counted(file.errors + file.warnings, "problem");
    return [
      {
        title: `Fix ${what} in ${name(file.path)}`,
        prompt: `Fix the ${what} that the editor shows in ${visible(file.path)}.`,
      },
    ];
  }
  if (elsewhere.errors === 0) return [];
  const where = elsewhere.files === 1 ? "one file" : `${elsewhere.files} files`;
  const what = counted(elsewhere.errors, "error");
  return [
    {
      title: `Fix ${what} in ${where}`,
      prompt: `Fix the ${what} that the editor shows in ${where}.`,
    },
  ];
}

function changes(git: {
  readonly branch: string;
  readonly changed: number;
}): readonly Suggestion[] {
  const branch = short(git.branch);
  if (git.changed > 0) {
    const what = counted(git.changed, "changed file");
    const where = branch === "" ? "" : ` on ${branch}`;
    return [
      {
        title: `Review ${what}${where}`,
        prompt:
          "Review my uncommitted changes: look for mistakes, leftovers and missing tests. Change nothing.",
      },
    ];
  }
  if (branch === "" || TRUNKS.has(git.branch)) return [];
  return [
    {
      title: `Review what ${branch} changes`,
      prompt: `Review what the branch ${visible(git.branch)} changes: look for mistakes, leftovers and missing tests. Change nothing.`,
    },
  ];
}

function ofFile(file: NonNullable<Surroundings["file"]>): readonly Suggestion[] {
  const path = visible(file.path);
  const symbol = file.symbols[0];
  const target = symbol === undefined ? name(file.path) : called(symbol);
  const where = symbol === undefined ? path : `${called(symbol)} in ${path}`;
  const title = symbol === undefined ? target : `${target} in ${name(file.path)}`;
  const explain = { title: `Explain ${title}`, prompt: `Explain ${where}.` };
  if (isTest(file.path) || isNoProgram(file.path)) return [explain];
  const tests = { title: `Write tests for ${title}`, prompt: `Write tests for ${where}.` };
  return [explain, tests];
}

function general(): readonly Suggestion[] {
  return [
    {
      title: "Explain the structure of this project",
      prompt: "Explain how this project is built up: its parts, where it starts, how data flows.",
    },
    {
      title: "Say how to build, run and test it",
      prompt: "Say how this project is built, run and tested, from its files.",
    },
    {
      title: "Find remaining work",
      prompt: "Find what is left to do here: TODO notes, missing tests, stale documentation.",
    },
  ];
}

function isTest(path: string): boolean {
  return /(^|\/)(tests?|spec|__tests__)\/|(^|[/._-])(test|spec)s?[._-]|_test\.|Test\.\w+$/i.test(
    path,
  );
}

/**
 * Returns whether a file is no program: documents, data and settings, or a name without a suffix,
 * such as Makefile.
 */
function isNoProgram(path: string): boolean {
  const last = path.split("/").at(-1) ?? path;
  return (
    !/[^.]\.[^.]+$/.test(last) ||
    /\.(md|markdown|rst|adoc|tex|txt|log|csv|tsv|json[c5l]?|ya?ml|toml|ini|cfg|conf|env|lock|xml|svg)$/i.test(
      last,
    )
  );
}

function called(symbol: { readonly name: string; readonly isFunction: boolean }): string {
  const word = short(symbol.name);
  return symbol.isFunction && /^[\w$]+$/.test(word) ? `${word}()` : word;
}

function name(path: string): string {
  return short(path.split("/").at(-1) ?? path);
}

function short(text: string): string {
  const characters = [...visible(text).replace(/\s+/g, " ").trim()];
  return characters.length <= NAME_LIMIT
    ? characters.join("")
    : `${characters.slice(0, NAME_LIMIT - 1).join("")}…`;
}

function counted(number: number, thing: string): string {
  return `${number} ${thing}${number === 1 ? "" : "s"}`;
}
