/**
 * Describes what a diff does not show to the eye: ends of lines, blanks, invisible characters,
 * modes, binaries. Pure.
 */
import { plural, t } from "../../shared/l10n.ts";

const MOST_LINES = 50_000; // The maximum number of lines that are checked; the card calls a longer diff too long.
const LINE_END = /(?:\r|\\u000d)$/;
const INVISIBLE = /[\p{Cf}\p{Cc}\u00a0]|\\u[0-9a-f]{4}|\\U[0-9a-f]{8}/gu;

/** Returns sentences that are shown above a diff, or an empty list if all changes are visible. */
export function diffWords(diff: string): readonly string[] {
  const counts = { ends: 0, blanks: 0, invisible: 0 };
  const said = new Set<string>();
  let removed: string[] = [];
  let added: string[] = [];
  const settle = () => {
    for (const [index, before] of removed.entries()) {
      const after = added[index];
      if (after !== undefined) count(before, after, counts);
    }
    removed = [];
    added = [];
  };
  for (const line of diff.split("\n", MOST_LINES)) {
    if (/^(---|\+\+\+) /.test(line)) continue;
    if (line.startsWith("-")) {
      if (added.length > 0) settle();
      removed.push(line.slice(1));
    } else if (line.startsWith("+")) added.push(line.slice(1));
    else {
      if (!line.startsWith("\\")) settle();
      for (const sentence of inWords(line)) said.add(sentence);
    }
  }
  settle();
  return [...counted(counts), ...said];
}

function count(
  before: string,
  after: string,
  counts: { ends: number; blanks: number; invisible: number },
): void {
  if (before === after) return;
  if (before.replace(LINE_END, "") === after.replace(LINE_END, "")) counts.ends += 1;
  else if (bare(before) === bare(after)) counts.blanks += 1;
  else if (bare(before.replace(INVISIBLE, "")) === bare(after.replace(INVISIBLE, "")))
    counts.invisible += 1;
}

function bare(line: string): string {
  return line.replace(LINE_END, "").replace(/[ \t]+/g, "");
}

function counted(counts: { ends: number; blanks: number; invisible: number }): readonly string[] {
  const { ends, blanks, invisible } = counts;
  const said: string[] = [];
  if (ends > 0)
    said.push(
      plural(
        ends,
        "In {0} line only the line's end changes",
        "In {0} lines only the line's end changes",
      ),
    );
  if (blanks > 0)
    said.push(plural(blanks, "In {0} line only blanks change", "In {0} lines only blanks change"));
  if (invisible > 0)
    said.push(
      plural(
        invisible,
        "In {0} line only invisible characters change",
        "In {0} lines only invisible characters change",
      ),
    );
  return said;
}

function inWords(line: string): readonly string[] {
  if (line.startsWith("\\ No newline")) return [t("The end of the file's last line changes")];
  const mode = /^(old|new) mode (\d+)/.exec(line);
  if (mode !== null)
    return mode[1] === "old"
      ? [t("The mode was {0}", mode[2] ?? "")]
      : [t("The mode becomes {0}", mode[2] ?? "")];
  if (/^Binary files? /.test(line)) return [t("This is not text: its contents cannot be shown")];
  return [];
}
