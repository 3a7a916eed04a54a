/** Reads a diff that a model wrote, and finds the position of each hunk. Pure. */
import { indentOf, isBlank, reindented } from "./code-lines.ts";
import { type Edit, NoPlace } from "./placer.ts";

/**
 * Lines that must be in the file, and their replacement. `line`, from 0, is the position that the
 * diff states.
 */
interface Hunk {
  readonly old: readonly string[];
  readonly fresh: readonly string[];
  readonly line: number | null;
}

export interface Diff {
  /** The file that the diff's header names, or null if there is no header. */
  readonly target: string | null;
  readonly hunks: readonly Hunk[];
}

const HEAD =
  /^(?:diff |index |old mode|new mode|new file|deleted file|similarity|rename |\\ No newline)/;

/**
 * Parses the diff in `code`; returns null if it is no diff. A diff without a header must add and
 * remove lines.
 */
export function readDiff(code: string): Diff | null {
  const lines = code.split(/\r?\n/);
  const named = lines.some(
    (line, at) => /^--- /.test(line) && /^\+\+\+ /.test(lines[at + 1] ?? ""),
  );
  const has = (mark: string): boolean =>
    lines.some((line) => line.startsWith(mark) && !line.startsWith(mark.repeat(3)));
  const fits = (line: string): boolean => line === "" || /^[ +\-@]/.test(line) || HEAD.test(line);
  if (!lines.every(fits) || !has("+") || !(named || has("@@") || has("-"))) return null;
  const target = named ? targetOf(lines) : null;
  return { target, hunks: hunksOf(lines) };
}

function targetOf(lines: readonly string[]): string | null {
  const path =
    lines
      .find((line) => line.startsWith("+++ "))
      ?.slice(4)
      .split("\t")[0]
      ?.trim() ?? "";
  return path === "" || path === "/dev/null" ? null : path.replace(/^b\//, "");
}

function hunksOf(lines: readonly string[]): readonly Hunk[] {
  const hunks: { old: string[]; fresh: string[]; line: number | null }[] = [];
  let isHeader = true;
  for (const line of lines) {
    const at = /^@@(?: -(\d+))?/.exec(line);
    if (at !== null) {
      hunks.push({ old: [], fresh: [], line: at[1] === undefined ? null : Number(at[1]) - 1 });
      isHeader = false;
    } else if (HEAD.test(line) || (isHeader && /^(?:---|\+\+\+) /.test(line))) {
      isHeader = true;
    } else {
      if (hunks.length === 0) hunks.push({ old: [], fresh: [], line: null });
      isHeader = false;
      const hunk = hunks.at(-1);
      if (!line.startsWith("+")) hunk?.old.push(line.slice(1));
      if (!line.startsWith("-")) hunk?.fresh.push(line.slice(1));
    }
  }
  return hunks.map(trimmed).filter(({ old, fresh }) => old.length + fresh.length > 0);
}

/** Removes the blank lines that only end the block of code. */
function trimmed({ old, fresh, line }: Hunk): Hunk {
  let [n, m] = [old.length, fresh.length];
  while (n > 0 && m > 0 && isBlank(old[n - 1] ?? "") && isBlank(fresh[m - 1] ?? "")) {
    n -= 1;
    m -= 1;
  }
  return { old: old.slice(0, n), fresh: fresh.slice(0, m), line };
}

/** Returns the edits of a diff; throws `NoPlace` if a hunk has no position, or more than one. */
export function diffEdits(file: readonly string[], { hunks }: Diff): readonly Edit[] {
  const edits: Edit[] = [];
  let from = 0;
  for (const hunk of hunks) {
    const at = placeOf(file, hunk, from);
    const telling = hunk.old.findIndex((line) => !isBlank(line));
    const [own, to] = [indentOf(hunk.old[telling] ?? ""), indentOf(file[at + telling] ?? "")];
    const fresh = own === to ? hunk.fresh : reindented(hunk.fresh, own, to, file);
    from = at + hunk.old.length;
    edits.push({ from: at, to: from, lines: fresh.map((line) => line.trimEnd()) });
  }
  return edits;
}

function placeOf(file: readonly string[], { old, line }: Hunk, from: number): number {
  if (old.every(isBlank)) throw new NoPlace(false);
  const exact = places(file, old, from, (text) => text.trimEnd());
  const found = exact.length > 0 ? exact : places(file, old, from, (text) => text.trim());
  const [first] = found;
  if (first === undefined) throw new NoPlace(false);
  if (found.length === 1) return first;
  if (line === null) throw new NoPlace(true);
  const far = (at: number): number => Math.abs(at - line);
  const [best = first, next = best] = found.toSorted((one, other) => far(one) - far(other));
  if (far(best) === far(next)) throw new NoPlace(true);
  return best;
}

function places(
  file: readonly string[],
  old: readonly string[],
  from: number,
  seen: (text: string) => string,
): readonly number[] {
  const wanted = old.map(seen);
  const found: number[] = [];
  for (let at = from; at + wanted.length <= file.length; at += 1) {
    if (wanted.every((text, place) => seen(file[at + place] ?? "") === text)) found.push(at);
  }
  return found;
}
