/**
 * Finds where code from a model belongs in a file, and returns the new text. Pure. Lines that the
 * code omits are kept: only code for the whole file replaces the whole file. The search tries, in
 * this order: the same lines; definitions by their names; lines between two lines that the file
 * also has. Each match must be unique. If the search finds no unique match, it does not guess, and
 * the position is unknown.
 */
import {
  inCommon,
  isBalanced,
  isBlank,
  isElision,
  linesOf,
  weightOf,
  withoutBlankEdges,
} from "./code-lines.ts";
import { type Diff, diffEdits, readDiff } from "./place-diff.ts";
import { type Edit, NoPlace, Placer } from "./placer.ts";

export type Placing =
  /**
   * The code was placed: `text` is the file's new text; `isWhole` says that the code is the whole
   * new text.
   */
  | { readonly kind: "placed"; readonly text: string; readonly isWhole: boolean }
  /** The file already contains the code. */
  | { readonly kind: "there" }
  /** The position is unknown; `several` says that the code would fit in more than one position. */
  | { readonly kind: "unknown"; readonly several: boolean };

/** The share of a file's lines that code must have to replace the whole file. */
const WHOLE = 0.6;
/** The most pairs of lines to compare, which limits the time. */
const MOST_COMPARED = 20_000_000;

/**
 * Places `code` in `file`; `near` is a line (from 0) that the model named, which decides between
 * equally good positions.
 */
export function placeCode(file: string, code: string, near: number | null = null): Placing {
  const { texts, ends } = linesOf(file);
  const eol = ends.find((end) => end !== "") ?? "\n";
  const diff = readDiff(code);
  if (diff !== null) return placeDiff(file, diff);
  const wanted = bodyOf(linesOf(code).texts, texts);
  if (wanted.length === 0) return { kind: "unknown", several: false };
  if (texts.every(isBlank)) {
    return { kind: "placed", text: wanted.join(eol) + eol, isWhole: true };
  }
  const whole = (): Placing => placed(file, wholeText(wanted, ends, eol), true);
  if (isWholeFile(texts, wanted, true)) return whole();
  try {
    const edits = new Placer(texts, near).place(wanted);
    return placed(file, edited(texts, ends, eol, edits), false);
  } catch (error) {
    if (!(error instanceof NoPlace)) throw error;
    if (isWholeFile(texts, wanted, false)) return whole();
    return { kind: "unknown", several: error.several };
  }
}

/**
 * Applies a diff: each hunk replaces the lines that it shows. For an empty file, the added lines
 * are the text.
 */
function placeDiff(file: string, diff: Diff): Placing {
  const { texts, ends } = linesOf(file);
  const eol = ends.find((end) => end !== "") ?? "\n";
  if (texts.every(isBlank)) {
    const lines = diff.hunks.flatMap(({ fresh }) => fresh);
    return { kind: "placed", text: lines.join(eol) + eol, isWhole: true };
  }
  try {
    return placed(file, edited(texts, ends, eol, diffEdits(texts, diff)), false);
  } catch (error) {
    if (!(error instanceof NoPlace)) throw error;
    return { kind: "unknown", several: error.several };
  }
}

function placed(file: string, text: string, isWhole: boolean): Placing {
  return text === file ? { kind: "there" } : { kind: "placed", text, isWhole };
}

/**
 * Returns the code without blank lines around it, and without a comment that only names the file.
 */
function bodyOf(code: readonly string[], file: readonly string[]): readonly string[] {
  const trimmed = withoutBlankEdges(code);
  const first = trimmed[0]?.trim() ?? "";
  const isName = /^(?:#|\/\/|--|;|\/\*|<!--)\s*[\w@.\\/-]+\.\w+\s*(?:\*\/|-->)?$/.test(first);
  const isKept = file.some((line) => line.trim() === first);
  return isName && !isKept ? withoutBlankEdges(trimmed.slice(1)) : trimmed;
}

/**
 * Returns whether `code` is the whole file; with `byEdges`, also if it begins and ends like the
 * file.
 */
function isWholeFile(file: readonly string[], code: readonly string[], byEdges: boolean): boolean {
  if (code.some((_, at) => isElision(code, at) && !file.includes(code[at] ?? ""))) return false;
  if (file.length * code.length > MOST_COMPARED) return false;
  if (isBalanced(file) && !isBalanced(code)) return false;
  const isSaid = (line: string): boolean => !isBlank(line);
  const same = (from: readonly string[], to: readonly string[]): boolean =>
    from.find(isSaid)?.trimEnd() === to.find(isSaid)?.trimEnd();
  const edges = same(file, code) && same(file.toReversed(), code.toReversed());
  if (byEdges ? !edges : code.length < WHOLE * file.length) return false;
  return inCommon(file, code) >= WHOLE * weightOf(file);
}

function wholeText(code: readonly string[], ends: readonly string[], eol: string): string {
  return code.map((line) => line.trimEnd()).join(eol) + (ends.at(-1) === "" ? "" : eol);
}

function edited(
  texts: readonly string[],
  ends: readonly string[],
  eol: string,
  edits: readonly Edit[],
): string {
  const sorted = edits.toSorted((one, other) => one.from - other.from || one.to - other.to);
  const put: string[] = [];
  const putEnds: string[] = [];
  let at = 0;
  for (const { from, to, lines } of [
    ...sorted,
    { from: texts.length, to: texts.length, lines: [] },
  ]) {
    if (from < at) throw new NoPlace(false);
    put.push(...texts.slice(at, from), ...lines);
    putEnds.push(...ends.slice(at, from), ...lines.map(() => eol));
    at = to;
  }
  // Only the last line may have no line end, and has none if the file's last line had none.
  const last = ends.at(-1) === "" ? "" : null;
  return put
    .map((line, place) => {
      const isLast = place === put.length - 1;
      return line + (isLast && last !== null ? last : putEnds[place] || eol);
    })
    .join("");
}
