/**
 * Finds characters that look like others: letters of one script among those of another, and in commands
 * also signs that look like shell syntax. Follows Unicode's report 39, as far as it matters in code and commands.
 */
import { t } from "./l10n.ts";

/** A lookalike: its position (UTF-16 units), the character, and the character it resembles. */
export interface Lookalike {
  readonly at: number;
  readonly character: string;
  readonly title: string;
}

const PAIRS: readonly (readonly [string, string])[] = [
  // The first string has Cyrillic letters, the second the letters that they resemble.
  ["асеорухіјѕһԁԛԝӏьгАВЕКМНОРСТУХІЈЅҮѴ", "aceopyxijshdqwlbrABEKMHOPCTYXIJSYV"],
  // The next pair has Greek letters.
  ["οαινρυκτχΑΒΕΖΗΙΚΜΝΟΡΤΥΧϹϳ", "oaivpuktxABEZHIKMNOPTYXCj"],
  // The next pair has Armenian letters, and Latin letters beyond ASCII.
  ["օոսցհԼՏ", "onugnLS"],
  ["ɑɡıȷʟʀⅼⅰⅴⅹⅽⅾⅿꓐꓑꓓꓔꓖꓙꓚꓝꓟꓠꓡꓢꓤꓪꓫꓬꓮꓰꓲꓳꓴ", "agijLRlivxcdmBPDTGJCFMNLSRWXYAEIOU"],
];

/** Signs that look like shell syntax; in prose, most of them are ordinary. */
const SIGNS: readonly (readonly [string, string])[] = [
  ["∕⁄⧸╱〳ノ", "//////"],
  ["∖⧵﹨╲", "\\\\\\\\"],
  ["‐‑‒–—―−﹣˗", "---------"],
  ["‘’‛ʼˈ′", "''''''"],
  ["“”‟″", '""""'],
  ["ˋ‵", "``"],
  ["․ꓸ‚", "..,"],
  ["\u037e؛；", ";;;"],
  ["∶ː꞉", ":::"],
  ["∣ǀ│⏐ꟾ", "|||||"],
  ["‹˂❮", "<<<"],
  ["›˃❯", ">>>"],
  ["∗⁎✱", "***"],
  ["∼˜", "~~"],
  ["﹩", "$"],
  ["﹠", "&"],
  ["ǃ", "!"],
];

const LETTERS = table(PAIRS);
const MARKS = table(SIGNS);
const WORD = /[\p{L}\p{M}\p{N}_]+/gu;
const OTHER = /[^\n\t\x20-\x7e]/u;
const ASCII_LETTER = /[A-Za-z]/;
/** Scripts whose letters look Latin, and wide and mathematical forms of Latin letters. */
const OTHER_SCRIPT =
  /[\p{Script=Cyrillic}\p{Script=Greek}\p{Script=Armenian}\p{Script=Cherokee}\p{Script=Lisu}\p{Script=Coptic}]/u;
const FORM = /[\uff01-\uff5e\u{1d400}-\u{1d7ff}]/u;

/**
 * Returns the lookalikes in a text, in order. In prose, these are only letters of another script
 * within a word that has ASCII letters. In a command, they are also whole words that look like
 * ASCII, wide and mathematical forms, and signs that resemble shell syntax.
 */
export function lookalikesIn(text: string, isCommand: boolean): readonly Lookalike[] {
  if (!OTHER.test(text)) return [];
  const found: Lookalike[] = [];
  for (const word of text.matchAll(WORD)) {
    if (OTHER.test(word[0])) found.push(...inWord(word[0], word.index, isCommand));
  }
  if (isCommand) found.push(...signs(text));
  return found.sort((one, other) => one.at - other.at);
}

function inWord(word: string, start: number, isCommand: boolean): readonly Lookalike[] {
  const characters = [...word];
  const isMixed = ASCII_LETTER.test(word);
  const readsAsAscii =
    isCommand && characters.every((one) => one < "\x7f" || LETTERS.has(one) || FORM.test(one));
  if (!isMixed && !readsAsAscii) return [];
  const found: Lookalike[] = [];
  let at = start;
  for (const one of characters) {
    const like = FORM.test(one) ? one.normalize("NFKC") : LETTERS.get(one);
    const isForeign = OTHER_SCRIPT.test(one) || like !== undefined;
    if (one > "\x7f" && isForeign && (isCommand || OTHER_SCRIPT.test(one)))
      found.push({ at, character: one, title: title(one, like) });
    at += one.length;
  }
  return found;
}

function signs(text: string): readonly Lookalike[] {
  const found: Lookalike[] = [];
  let at = 0;
  for (const one of text) {
    const isForm = FORM.test(one) && !/[\p{L}\p{N}]/u.test(one);
    const like = isForm ? one.normalize("NFKC") : MARKS.get(one);
    const isInWord = /[\p{L}\p{M}\p{N}_]/u.test(one) && !MARKS.has(one);
    if (like !== undefined && !isInWord)
      found.push({ at, character: one, title: title(one, like) });
    at += one.length;
  }
  return found;
}

function title(character: string, like: string | undefined): string {
  const hex = (character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0");
  return like === undefined
    ? t("of another script (U+{0})", hex)
    : t("looks like {0}, is U+{1}", like, hex);
}

function table(rows: readonly (readonly [string, string])[]): ReadonlyMap<string, string> {
  const map = new Map<string, string>();
  for (const [from, to] of rows) {
    const like = [...to];
    for (const [index, one] of [...from].entries()) map.set(one, like[index] ?? "");
  }
  return map;
}
