/** Reads lines of code without a parser: indentation, definitions and their ends, gaps. Pure. */

/** A text as lines and line ends, so that unchanged lines keep their ends. */
export interface Lines {
  readonly texts: readonly string[];
  /** The line end: `\n`, `\r\n` or `\r`; the last line may have none. */
  readonly ends: readonly string[];
}

export function linesOf(text: string): Lines {
  const texts: string[] = [];
  const ends: string[] = [];
  for (const [, line = "", end = ""] of text.matchAll(/([^\r\n]*)(\r\n|\r|\n|$)/g)) {
    if (line === "" && end === "") break;
    texts.push(line);
    ends.push(end);
  }
  return { texts, ends };
}

export function isBlank(line: string): boolean {
  return line.trim() === "";
}

/** Returns the number of letters and digits of a line, at most 40; a lone bracket has weight 0. */
export function weight(line: string): number {
  return Math.min(40, line.match(/[\p{L}\p{N}_]/gu)?.length ?? 0);
}

/** Returns whether a line has enough text to be recognised. */
export function isTelling(line: string): boolean {
  return weight(line) >= 2;
}

export function indentOf(line: string): string {
  return /^[ \t]*/.exec(line)?.[0] ?? "";
}

/** Returns the indentation in columns; a tab counts as four. */
export function depthOf(line: string): number {
  return indentOf(line).replaceAll("\t", "    ").length;
}

const COMMENT = /^(?:\/\/+|#+|--+|;+|%+|\/\*+|<!--|\{\s*\/\*+)\s*/;
const COMMENT_END = /\s*(?:\*+\/\s*\}?|-->)$/;
const LEFT_OUT =
  /^(?:\(?(?:\.{3,}|…|\[\.{3}\])|(?:the )?(?:rest|remainder) of\b|(?:existing|other|remaining|previous|unchanged)\b.*\b(?:code|content|fields?|file|functions?|here|implementation|imports?|logic|members?|methods?|unchanged|above|below)\b|(?:code )?(?:unchanged|omitted|snip|same as (?:before|above))\b)/i;

/**
 * Returns whether the line represents omitted code, such as `# ... existing code ...`. In Python,
 * `...` alone is also an empty body.
 */
export function isElision(lines: readonly string[], at: number): boolean {
  const bare = lines[at]?.trim() ?? "";
  if (/^(?:\.{3,}|…)$/.test(bare)) return !isEmptyBody(lines, at);
  if (!COMMENT.test(bare)) return false;
  return LEFT_OUT.test(bare.replace(COMMENT, "").replace(COMMENT_END, ""));
}

function isEmptyBody(lines: readonly string[], at: number): boolean {
  const before = lines.slice(0, at).findLast((line) => !isBlank(line));
  const after = lines.slice(at + 1).find((line) => !isBlank(line));
  const isFirst = before?.trimEnd().endsWith(":") === true;
  return isFirst && (after === undefined || depthOf(after) < depthOf(lines[at] ?? ""));
}

const MODIFIERS =
  /^(?:(?:export|default|declare|pub(?:\([^)]*\))?|public|private|protected|internal|static|final|abstract|override|virtual|async|unsafe|extern|inline|open|sealed|partial|suspend|const(?=\s+(?:fn|enum)\b))\s+)*/;
const NAMED =
  /^(function|def|fn|fun|func|class|interface|enum|struct|trait|module|mod|namespace|type|object|record|protocol)\b\s*\*?\s*(\([^)]*\)\s*)?([\w$.]+[?!]?)/;
const FUNCTION_VALUE =
  /^(?:const|let|var|val)\s+([\w$]+)\b.*(?:=>|\bfunction\b|=\s*(?:async\s*)?\($)/;
const VALUE =
  /^(?:(?:const|let|var|val)\s+)?([\w$.]+)\s*(?::[^=]+)?=[^=>].*[{[(]$|^(?:(?:const|let|var|val)\s+)?([\w$.]+)\s*(?::[^=]+)?=\s*[{[(]$/;
const METHOD = /^(?:[\w<>[\],.?*&:\s]+?[\s*&]+)?([\w$~]+)\s*(?:<[^>]*>)?\([^;{}]*\)[^;=]*\{$/;
const IMPL = /^impl\b[^{]*/;
const FLOW =
  /^(?:\}\s*)?(?:if|for|foreach|while|switch|catch|else|elif|try|do|return|with|match|using|lock|synchronized|unless|loop|select|case|when|finally|except|throw|await|yield|new)\b/;

/** The maximum number of characters of a line that may be a definition; longer lines are generated. */
const LONGEST = 400;

/**
 * Returns the name of a definition without parameters, such as `def total`, or null if the line
 * begins no definition.
 */
export function headKey(line: string): string | null {
  if (line.length > LONGEST) return null;
  const bare = line.trim().replace(MODIFIERS, "");
  if (bare === "" || FLOW.test(bare)) return null;
  const named = NAMED.exec(bare);
  if (named !== null) {
    const receiver = /[\w]+(?=\s*\)$)/.exec(named[2]?.trim() ?? "")?.[0] ?? "";
    const kind = isCallable(named[1] ?? "") ? "function" : (named[1] ?? "");
    return `${kind} ${receiver}${receiver === "" ? "" : "."}${named[3]}`;
  }
  if (IMPL.test(bare)) return (IMPL.exec(bare)?.[0] ?? "").trim();
  const called = FUNCTION_VALUE.exec(bare)?.[1] ?? METHOD.exec(bare)?.[1];
  if (called !== undefined) return `function ${called}`;
  const value = VALUE.exec(bare);
  if (value !== null) return `value ${value[1] ?? value[2]}`;
  return bare.endsWith("{") && bare.length > 1 && !/^[)\]}]/.test(bare) ? `block ${bare}` : null;
}

/** Returns whether the definition can contain others, so that code may show only some of them. */
export function holdsMembers(key: string): boolean {
  return /^(?:class|interface|enum|struct|trait|impl|module|mod|namespace|object|record|protocol)\b/.test(
    key,
  );
}

function isCallable(word: string): boolean {
  return /^(?:function|def|fn|fun|func)$/.test(word);
}

/**
 * Returns whether a line above a definition, such as a decorator or comment, belongs to the
 * definition.
 */
export function isLead(line: string): boolean {
  return (
    isDecorator(line) || /^(?:\/\/|\/\*|\*|#(?!include|define|if|endif|else))/.test(line.trim())
  );
}

export function isDecorator(line: string): boolean {
  return /^(?:@\w|#\[|\[\w[^\]]*\]$)/.test(line.trim());
}

/** Returns the line after the end of the definition that begins at `head`, before `hi`. */
export function blockEnd(lines: readonly string[], head: number, hi: number): number {
  const own = depthOf(lines[head] ?? "");
  let end = head + 1;
  for (let at = head + 1; at < hi; at += 1) {
    const line = lines[at] ?? "";
    const bare = line.trim();
    if (bare === "") continue;
    const depth = depthOf(line);
    if (depth > own) end = at + 1;
    else if (depth < own) return end;
    else if (bare === "{") end = at + 1;
    else if (isCloser(bare)) {
      end = at + 1;
      // A line such as `) -> int:` or `} else {` does not end the block.
      if (!/(?:[{:([,]|=>)$/.test(bare)) return end;
    } else return end;
  }
  return end;
}

/** Returns whether the line only closes a block, such as `}`, `);` or `end`. */
export function isCloser(line: string): boolean {
  return /^(?:[)\]}]|end\b)/.test(line.trim());
}

/** Returns the line after a signature. */
export function headerEnd(lines: readonly string[], head: number, hi: number): number {
  let open = 0;
  for (let at = head; at < hi; at += 1) {
    for (const sign of lines[at] ?? "") {
      if (sign === "(" || sign === "[") open += 1;
      if (sign === ")" || sign === "]") open -= 1;
    }
    if (open <= 0) return lines[at + 1]?.trim() === "{" ? at + 2 : at + 1;
  }
  return head + 1;
}

/**
 * Returns whether all brackets and long strings are closed; an estimate, because brackets in
 * strings count too.
 */
export function isBalanced(lines: readonly string[]): boolean {
  const text = lines.join("\n");
  const count = (sign: string): number => text.split(sign).length - 1;
  const pairs = [
    ["{", "}"],
    ["(", ")"],
    ["[", "]"],
  ] as const;
  return (
    pairs.every(([open, close]) => count(open) === count(close)) &&
    count('"""') % 2 === 0 &&
    count("'''") % 2 === 0
  );
}

/** Returns the imported module, such as `os.path`, or null if the line is not an import. */
export function importedFrom(line: string): string | null {
  const bare = line.trim();
  const found =
    /^from\s+(\S+)\s+import\b/.exec(bare) ??
    /^(?:import|export)\b.*\bfrom\s+["']([^"']+)["']/.exec(bare) ??
    /^import\s+["']?([\w./@-]+)/.exec(bare) ??
    /^(?:const|let|var)\b.*=\s*require\(["']([^"']+)["']\)/.exec(bare) ??
    /^#\s*include\s*[<"]([^>"]+)[>"]/.exec(bare) ??
    /^(?:use|using|require|require_relative)\s+["']?([\w:.{}, /*-]+)/.exec(bare);
  return found?.[1] ?? null;
}

/** Moves `lines` from the indentation `from` to `to`, with tabs or spaces as in `like`. */
export function reindented(
  lines: readonly string[],
  from: string,
  to: string,
  like: readonly string[],
): readonly string[] {
  const hasTabs = like.filter((line) => line.startsWith("\t")).length;
  const hasSpaces = like.filter((line) => line.startsWith("  ")).length;
  const unit = Math.min(
    8,
    ...lines.map((line) => indentOf(line).replace(from, "").length).filter((width) => width > 1),
  );
  const deeper = (rest: string): string => {
    if (hasTabs > hasSpaces && !rest.includes("\t"))
      return "\t".repeat(Math.floor(rest.length / unit)) + " ".repeat(rest.length % unit);
    return hasSpaces > hasTabs ? rest.replaceAll("\t", " ".repeat(unitOf(like))) : rest;
  };
  return lines.map((line) => {
    if (isBlank(line)) return "";
    const own = indentOf(line);
    const rest = line.slice(own.length).trimEnd();
    if (own.startsWith(from)) return to + deeper(own.slice(from.length)) + rest;
    return to.slice(0, Math.max(0, to.length - (from.length - own.length))) + rest;
  });
}

function unitOf(lines: readonly string[]): number {
  const widths = lines.map((line) => indentOf(line).length).filter((width) => width > 1);
  return Math.min(8, ...widths);
}

/** Returns the share of words that two lines have in common, from 0 to 1. */
export function likeness(one: string, other: string): number {
  const words = one.match(/[\p{L}\p{N}_]+/gu) ?? [];
  const others = other.match(/[\p{L}\p{N}_]+/gu) ?? [];
  const left = [...others];
  let same = 0;
  for (const word of words) {
    const at = left.indexOf(word);
    if (at < 0) continue;
    left.splice(at, 1);
    same += 1;
  }
  return words.length + others.length === 0 ? 0 : (2 * same) / (words.length + others.length);
}

/**
 * Returns the weight of the lines in both texts, in the same order (longest common subsequence),
 * without indentation.
 */
export function inCommon(some: readonly string[], others: readonly string[]): number {
  let row = new Array<number>(others.length + 1).fill(0);
  const bare = others.map((line) => line.trim());
  for (const line of some.map((one) => one.trim())) {
    const next = [0];
    for (let at = 0; at < bare.length; at += 1) {
      const here = line === bare[at] ? (row[at] ?? 0) + weight(line) : 0;
      next.push(Math.max(here, row[at + 1] ?? 0, next[at] ?? 0));
    }
    row = next;
  }
  return row.at(-1) ?? 0;
}

export function weightOf(lines: readonly string[]): number {
  return lines.reduce((all, line) => all + weight(line), 0);
}

/**
 * Returns the smallest range of whole lines in which two texts differ; `from` and `to` are offsets
 * in the first.
 */
export function changedPart(
  before: string,
  after: string,
): { readonly from: number; readonly to: number; readonly text: string } {
  const least = Math.min(before.length, after.length);
  let from = 0;
  while (from < least && before[from] === after[from]) from += 1;
  from = from === 0 ? 0 : before.lastIndexOf("\n", from - 1) + 1;
  let same = 0;
  while (same < least - from && before.at(-1 - same) === after.at(-1 - same)) same += 1;
  const startsLine = (text: string): boolean => text.length === same || text.at(-1 - same) === "\n";
  let kept = same;
  if (!startsLine(before) || !startsLine(after)) {
    const end = before.indexOf("\n", before.length - same);
    kept = same === 0 || end < 0 ? 0 : before.length - end - 1;
  }
  return { from, to: before.length - kept, text: after.slice(from, after.length - kept) };
}

export function withoutBlankEdges(lines: readonly string[]): readonly string[] {
  const first = lines.findIndex((line) => !isBlank(line));
  return first < 0 ? [] : lines.slice(first, lines.findLastIndex((line) => !isBlank(line)) + 1);
}
