/**
 * Suggests three prompts in an empty panel. Pure. Names of files, symbols and branches come from
 * the repository, so they are shortened and their hidden characters shown. The whole prompt is
 * shown before it is sent.
 */
import { plural, t } from "./l10n.ts";
import type { Suggestion } from "./state/state.ts";
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
  const here = file === null ? 0 : file.errors + file.warnings;
  if (file !== null && here > 0) {
    return [
      {
        title: plural(here, "Fix {0} problem in {1}", "Fix {0} problems in {1}", name(file.path)),
        prompt: plural(
          here,
          "Fix the {0} problem that the editor shows in {1}.",
          "Fix the {0} problems that the editor shows in {1}.",
          visible(file.path),
        ),
      },
    ];
  }
  const { errors, files } = elsewhere;
  if (errors === 0) return [];
  const where = plural(files, "one file", "{0} files");
  return [
    {
      title: plural(errors, "Fix {0} error in {1}", "Fix {0} errors in {1}", where),
      prompt: plural(
        errors,
        "Fix the {0} error that the editor shows in {1}.",
        "Fix the {0} errors that the editor shows in {1}.",
        where,
      ),
    },
  ];
}

function changes(git: {
  readonly branch: string;
  readonly changed: number;
}): readonly Suggestion[] {
  const branch = short(git.branch);
  if (git.changed > 0) {
    const title =
      branch === ""
        ? plural(git.changed, "Review {0} changed file", "Review {0} changed files")
        : plural(
            git.changed,
            "Review {0} changed file on {1}",
            "Review {0} changed files on {1}",
            branch,
          );
    return [
      {
        title,
        prompt: t(
          "Review my uncommitted changes: look for mistakes, leftovers and missing tests. Change nothing.",
        ),
      },
    ];
  }
  if (branch === "" || TRUNKS.has(git.branch)) return [];
  return [
    {
      title: t("Review what {0} changes", branch),
      prompt: t(
        "Review what the branch {0} changes: look for mistakes, leftovers and missing tests. Change nothing.",
        visible(git.branch),
      ),
    },
  ];
}

function ofFile(file: NonNullable<Surroundings["file"]>): readonly Suggestion[] {
  const path = visible(file.path);
  const symbol = file.symbols[0];
  const target = symbol === undefined ? name(file.path) : called(symbol);
  const where = symbol === undefined ? path : t("{0} in {1}", called(symbol), path);
  const title = symbol === undefined ? target : t("{0} in {1}", target, name(file.path));
  const explain = { title: t("Explain {0}", title), prompt: t("Explain {0}.", where) };
  if (isTest(file.path) || isNoProgram(file.path)) return [explain];
  const tests = {
    title: t("Write tests for {0}", title),
    prompt: t("Write tests for {0}.", where),
  };
  return [explain, tests];
}

function general(): readonly Suggestion[] {
  return [
    {
      title: t("Explain the structure of this project"),
      prompt: t(
        "Explain how this project is built up: its parts, where it starts, how data flows.",
      ),
    },
    {
      title: t("Say how to build, run and test it"),
      prompt: t("Say how this project is built, run and tested, from its files."),
    },
    {
      title: t("Find remaining work"),
      prompt: t("Find what is left to do here: TODO notes, missing tests, stale documentation."),
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
