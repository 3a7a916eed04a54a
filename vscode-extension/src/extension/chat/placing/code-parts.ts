/** Splits code of a model into definitions, gaps and the lines between them. Pure. */
import {
  blockEnd,
  depthOf,
  headKey,
  isBlank,
  isElision,
  isLead,
  withoutBlankEdges,
} from "./code-lines.ts";

/** A part of the code, with the blank lines before it. */
export type Part = { readonly gap: number } & (
  | { readonly kind: "elision" }
  | { readonly kind: "run"; readonly lines: readonly string[] }
  | {
      readonly kind: "unit";
      readonly key: string;
      readonly lead: readonly string[];
      readonly lines: readonly string[];
    }
);
/** A definition, with the comments and decorators above it. */
export type Unit = Extract<Part, { kind: "unit" }>;

/**
 * Splits code into definitions, gaps and the lines between them, at the least depth; `known` are the
 * lines of the file, without indentation.
 */
export function partsOf(code: readonly string[], known: ReadonlySet<string>): readonly Part[] {
  const told = code.filter((line, at) => !isBlank(line) && !isGap(code, at, known));
  const base = Math.min(...told.map(depthOf));
  const parts: Part[] = [];
  let run: string[] = [];
  let gap = 0;
  const flush = (): void => {
    const lines = withoutBlankEdges(run);
    if (lines.length > 0) parts.push({ kind: "run", gap: 0, lines });
    run = [];
  };
  for (let at = 0; at < code.length; ) {
    const line = code[at] ?? "";
    const key = depthOf(line) === base ? headKey(line) : null;
    if (isGap(code, at, known)) {
      flush();
      parts.push({ kind: "elision", gap });
      at += 1;
    } else if (key !== null) {
      let lead = run.length;
      while (lead > 0 && isLead(run[lead - 1] ?? "")) lead -= 1;
      const leads = run.splice(lead);
      const blanks = run.length - (run.findLastIndex((one) => !isBlank(one)) + 1);
      const end = blockEnd(code, at, code.length);
      const before = run.some((one) => !isBlank(one)) ? blanks : Math.max(blanks, gap);
      flush();
      parts.push({ kind: "unit", gap: before, key, lead: leads, lines: code.slice(at, end) });
      at = end;
    } else {
      run.push(line);
      at += 1;
    }
    gap = isBlank(line) ? gap + 1 : 0;
  }
  flush();
  return parts;
}

/**
 * Returns whether a line says that code was left out. A line that the file also has (one of `known`,
 * without indentation) is code, unless it has only dots.
 */
export function isGap(code: readonly string[], at: number, known: ReadonlySet<string>): boolean {
  const bare = code[at]?.trim() ?? "";
  return isElision(code, at) && (!known.has(bare) || /^(?:\.+|…)$/.test(bare));
}
