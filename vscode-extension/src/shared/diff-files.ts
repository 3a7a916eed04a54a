/** A unified diff of one or several files, taken apart file by file. */
import type { EditShown } from "./state.ts";

/**
 * The files of `diff`. Without headers it is all of `path`.
 *
 * A header is a line `--- ` with `+++ ` right behind it that no hunk counts as its own.
 */
export function diffFiles(diff: string, path: string): readonly EditShown[] {
  if (diff === "") return [];
  const lines = diff.split("\n");
  const starts = headers(lines);
  if (starts.length === 0) return [fileOf(lines, path)];
  return starts.map((start, index) => {
    const own = lines.slice(start, starts[index + 1] ?? lines.length);
    return fileOf(own, starts.length === 1 && path !== "" ? path : named(own));
  });
}

/** Lines that came and went. */
export function countLines(lines: readonly string[]): { added: number; removed: number } {
  let added = 0;
  let removed = 0;
  walk(lines, (line, isBody) => {
    if (isBody && line.startsWith("+")) added += 1;
    if (isBody && line.startsWith("-")) removed += 1;
  });
  return { added, removed };
}

function headers(lines: readonly string[]): readonly number[] {
  const found: number[] = [];
  walk(lines, (line, isBody, place) => {
    if (!isBody && line.startsWith("--- ") && lines[place + 1]?.startsWith("+++ ")) {
      found.push(place);
    }
  });
  return found;
}

/** Tells for each line whether it belongs to a hunk, by the counts of the hunks' heads. */
function walk(
  lines: readonly string[],
  see: (line: string, isBody: boolean, place: number) => void,
): void {
  let oldLeft = 0;
  let newLeft = 0;
  for (const [place, line] of lines.entries()) {
    const isBody = (oldLeft > 0 || newLeft > 0) && /^[-+ \\]/.test(line);
    see(line, isBody, place);
    if (isBody) {
      if (line.startsWith("-") || line.startsWith(" ")) oldLeft -= 1;
      if (line.startsWith("+") || line.startsWith(" ")) newLeft -= 1;
      continue;
    }
    const head = /^@@ -\d+(?:,(\d+))? \+\d+(?:,(\d+))? @@/.exec(line);
    if (head !== null) {
      oldLeft = Number(head[1] ?? 1);
      newLeft = Number(head[2] ?? 1);
    }
  }
}

function fileOf(lines: readonly string[], path: string): EditShown {
  const text = lines.join("\n");
  const isNew = lines.some((line) => /^@@ -0,0 /.test(line)) || lines[0] === "--- /dev/null";
  return { path, ...countLines(lines), diff: text, created: isNew };
}

function named(lines: readonly string[]): string {
  const name = (lines[1]?.slice(4) ?? "").split("\t")[0] ?? "";
  const old = (lines[0]?.slice(4) ?? "").split("\t")[0] ?? "";
  return (name === "/dev/null" ? old : name).replace(/^[ab]\//, "");
}
