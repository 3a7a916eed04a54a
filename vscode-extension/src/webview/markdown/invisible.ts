/** Makes characters that hide or reverse text visible as code points. Pure. */

/**
 * Characters that reorder the text around them, or that are invisible and have no function in any
 * script.
 */
const TURNING = "\\u202a-\\u202e\\u2066-\\u2069";
const EMPTY =
  "\\u00ad\\u034f\\u180e\\u200b\\u2060-\\u2064\\u206a-\\u206f\\ufeff\\ufff9-\\ufffb\\u{e0000}-\\u{e007f}";
const CONTROL = "\\u0000-\\u0008\\u000b-\\u001f\\u007f-\\u009f\\u2028\\u2029";
/** Characters that scripts and emoji need in prose, but names, addresses and code do not. */
const NEEDED = "\\u061c\\u115f\\u1160\\u200c-\\u200f\\u3164\\uffa0\\u2800";

const IN_PROSE = new RegExp(`[${TURNING}${EMPTY}${CONTROL}]`, "gu");
const IN_NAMES = new RegExp(`[${TURNING}${EMPTY}${CONTROL}${NEEDED}]`, "gu");

/**
 * How strict the check is: in prose, invisible characters that scripts need stay invisible; in
 * names (of files, links and code), all are shown.
 */
export type Strictness = "prose" | "name";

/** A part of a text: either unchanged text, or the code point of one invisible character. */
export interface Run {
  readonly text: string;
  readonly hidden: boolean;
}

/** Splits the text into runs; nearly every text is one unchanged run. */
export function runs(text: string, strictness: Strictness): readonly Run[] {
  const pattern = strictness === "prose" ? IN_PROSE : IN_NAMES;
  const found: Run[] = [];
  let last = 0;
  for (const match of text.matchAll(pattern)) {
    if (match.index > last) found.push({ text: text.slice(last, match.index), hidden: false });
    found.push({ text: codePoint(match[0]), hidden: true });
    last = match.index + match[0].length;
  }
  if (last < text.length || found.length === 0)
    found.push({ text: text.slice(last), hidden: false });
  return found;
}

/** Returns whether a name contains hidden characters. */
export function hides(text: string): boolean {
  return runs(text, "name").some((run) => run.hidden);
}

function codePoint(character: string): string {
  const point = character.codePointAt(0) ?? 0;
  return `U+${point.toString(16).toUpperCase().padStart(4, "0")}`;
}
