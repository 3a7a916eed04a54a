/** Parses the shown part of a unified diff, and describes changes that colours cannot show. Pure. */
import { t } from "../../shared/l10n.ts";
import { pairLines, type Span } from "../../shared/word-diff.ts";

export interface DiffLine {
  readonly kind: "same" | "added" | "removed";
  readonly text: string;
  /**
   * The line's number, counted from 1 in the new file, or in the old file for a removed line; 0 if
   * unknown.
   */
  readonly number: number;
}

/** A group of changed lines, or of context lines. */
export interface DiffGroup {
  readonly changed: boolean;
  readonly lines: readonly DiffLine[];
  /** The first line in the new file, from 1, or 0 if unknown. */
  readonly line: number;
  /** Whether a gap comes before the group. */
  readonly gap: boolean;
}

export interface ReadDiff {
  readonly groups: readonly DiffGroup[];
  /** Notes about the group, such as that only line ends change. */
  readonly notes: readonly string[];
  /** The number of lines and hunks beyond the limit. */
  readonly cutLines: number;
  readonly cutHunks: number;
}

/** The maximum number of lines of a diff that are drawn; the number of the others is shown. */
export const MOST_LINES = 300;
/** The maximum number of characters of one line that are drawn. */
export const MOST_CHARACTERS = 500;

const HUNK = /^@@ -(\d+)(?:,\d+)? \+(\d+)(?:,\d+)? @@/;

export function readDiff(diff: string): ReadDiff {
  const reader = new Reader();
  for (let from = 0; from < diff.length; ) {
    const end = diff.indexOf("\n", from);
    reader.line(diff.slice(from, end < 0 ? diff.length : end));
    from = end < 0 ? diff.length : end + 1;
    if (reader.isFull) {
      reader.skip(diff, from);
      break;
    }
  }
  return reader.result();
}

/** Parses a change that is given by its old and its new text, like a pending hunk. */
export function readChange(old: string, fresh: string, line: number): ReadDiff {
  const lines = [
    ...textLines(old).map((text) => `-${text}`),
    ...textLines(fresh).map((text) => `+${text}`),
  ];
  return readDiff(`@@ -0 +${line} @@\n${lines.join("\n")}\n`);
}

function textLines(text: string): readonly string[] {
  if (text === "") return [];
  return (text.endsWith("\n") ? text.slice(0, -1) : text).split("\n");
}

class Reader {
  readonly #groups: { changed: boolean; lines: DiffLine[]; line: number; gap: boolean }[] = [];
  readonly #notes = new Set<string>();
  #count = 0;
  #line = 0;
  #oldLine = 0;
  #gap = false;
  #inHunk = false;
  #cutLines = 0;
  #cutHunks = 0;

  get isFull(): boolean {
    return this.#count >= MOST_LINES;
  }

  line(text: string): void {
    const hunk = HUNK.exec(text);
    if (hunk !== null) {
      this.#gap = true;
      this.#inHunk = true;
      this.#oldLine = Number(hunk[1]);
      this.#line = Number(hunk[2]);
    } else if (!this.#inHunk) {
      this.#head(text);
    } else if (text.startsWith("\\")) {
      this.#notes.add(t("The last line has no line end, before or after."));
    } else {
      this.#body(text);
    }
  }

  /** Counts the lines that are not shown, without splitting the text into lines. */
  skip(diff: string, from: number): void {
    for (let at = from; at < diff.length; ) {
      const end = diff.indexOf("\n", at);
      if (diff.startsWith("@@ ", at)) this.#cutHunks += 1;
      else this.#cutLines += 1;
      at = end < 0 ? diff.length : end + 1;
    }
  }

  result(): ReadDiff {
    const note = sameButFor(this.#groups);
    if (note !== null) this.#notes.add(note);
    return {
      groups: this.#groups,
      notes: [...this.#notes],
      cutLines: this.#cutLines,
      cutHunks: this.#cutHunks,
    };
  }

  #head(text: string): void {
    if (/^Binary files .* differ|^GIT binary patch/.test(text))
      this.#notes.add(t("A binary file: its bytes are not shown."));
    const mode = /^(old|new) mode (\d+)/.exec(text);
    if (mode !== null)
      this.#notes.add(
        mode[1] === "old"
          ? t("Mode before: {0}.", mode[2] ?? "")
          : t("Mode after: {0}.", mode[2] ?? ""),
      );
    if (text.startsWith("rename to ")) this.#notes.add(t("Renamed to {0}.", text.slice(10)));
  }

  #body(text: string): void {
    const kind = text.startsWith("+") ? "added" : text.startsWith("-") ? "removed" : "same";
    const changed = kind !== "same";
    let group = this.#groups.at(-1);
    if (group === undefined || this.#gap || group.changed !== changed) {
      group = { changed, lines: [], line: this.#line, gap: this.#gap && this.#groups.length > 0 };
      this.#groups.push(group);
      this.#gap = false;
    }
    const number = kind === "removed" ? this.#oldLine : this.#line;
    group.lines.push({ kind, text: text.slice(1), number });
    this.#count += 1;
    if (kind !== "removed") this.#line += 1;
    if (kind !== "added" && this.#oldLine > 0) this.#oldLine += 1;
  }
}

const BLANK = /\s+/g;
const UNSEEN =
  /[\u00ad\u061c\u115f\u1160\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164\ufeff]|\p{Variation_Selector}/gu;

/** Returns a sentence if colours cannot show any of the changes. */
function sameButFor(groups: readonly DiffGroup[]): string | null {
  const pairs = groups.filter((group) => group.changed).map(sides);
  if (pairs.length === 0) return null;
  const equal = (view: (text: string) => string) =>
    pairs.every(([old, fresh]) => view(old) === view(fresh));
  if (equal((text) => text.replace(/\r/g, ""))) return lineEnds(pairs);
  if (equal((text) => text.replace(UNSEEN, ""))) return t("Only invisible characters change.");
  if (equal((text) => text.replace(BLANK, ""))) return t("Only blanks change.");
  if (pairs.some(([old, fresh]) => old.replace(UNSEEN, "") === fresh.replace(UNSEEN, ""))) {
    return t("Some changes affect only invisible characters.");
  }
  return otherEnds(pairs);
}

function lineEnds(pairs: readonly (readonly [string, string])[]): string {
  const had = pairs.some(([old]) => old.includes("\r"));
  const has = pairs.some(([, fresh]) => fresh.includes("\r"));
  if (had === has) return t("Only line ends change.");
  return had
    ? t("Only line ends change: CRLF becomes LF.")
    : t("Only line ends change: LF becomes CRLF.");
}

/**
 * Returns a sentence if changed lines also get other line ends, because line ends are not drawn.
 */
function otherEnds(pairs: readonly (readonly [string, string])[]): string | null {
  const both = pairs.filter(([old, fresh]) => old !== "" && fresh !== "");
  const had = both.some(([old]) => old.includes("\r"));
  const has = both.some(([, fresh]) => fresh.includes("\r"));
  if (had === has) return null;
  return had
    ? t("Line ends change too: CRLF becomes LF.")
    : t("Line ends change too: LF becomes CRLF.");
}

/**
 * Returns the changed words of a group, by the index of the line; both lines of a pair have
 * entries.
 */
export function wordMarks({ changed, lines }: DiffGroup): ReadonlyMap<number, readonly Span[]> {
  if (!changed) return new Map();
  const side = (kind: DiffLine["kind"]) =>
    lines.flatMap((line, index) =>
      line.kind === kind ? [{ index, text: withoutReturn(line.text) }] : [],
    );
  const [old, fresh] = [side("removed"), side("added")];
  const pairs = pairLines(
    old.map((one) => one.text),
    fresh.map((one) => one.text),
  );
  return new Map(
    pairs.flatMap((pair) => [
      [old[pair.old]?.index ?? -1, pair.removed],
      [fresh[pair.fresh]?.index ?? -1, pair.added],
    ]),
  );
}

/**
 * Returns a line of a diff without the carriage return of its CRLF, which is not part of the text.
 */
export function withoutReturn(text: string): string {
  return text.endsWith("\r") ? text.slice(0, -1) : text;
}

function sides(group: DiffGroup): readonly [string, string] {
  const side = (kind: DiffLine["kind"]) =>
    group.lines
      .filter((line) => line.kind === kind)
      .map((line) => line.text)
      .join("\n");
  return [side("removed"), side("added")];
}
