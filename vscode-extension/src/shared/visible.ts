/**
 * Splits untrusted text into visible pieces: characters that hide, reverse, overwrite or imitate
 * text appear as code points or are marked. Imitations follow report 39 of Unicode: letters of one
 * script among those of another, and in commands also signs that look like shell syntax. No DOM, no
 * clock. The server also escapes such characters, but this module does not rely on the server.
 */
import { plural, t } from "./l10n.ts";

/** A lookalike: its position (UTF-16 units), the character, and the character it resembles. */
interface Lookalike {
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
/** Scripts whose letters look Latin. */
const OTHER_SCRIPT =
  /[\p{Script=Cyrillic}\p{Script=Greek}\p{Script=Armenian}\p{Script=Cherokee}\p{Script=Lisu}\p{Script=Coptic}]/u;
/**
 * Wide and mathematical forms of Latin letters. Some mathematical letters, such as the italic h,
 * are among the letterlike symbols from U+2100.
 */
const FORM =
  /[\uff01-\uff5e\u{1d400}-\u{1d7ff}\u2102\u210a-\u210e\u2110-\u2113\u2115\u2119-\u211d\u2124\u2128\u212a\u212c\u212d\u212f-\u2131\u2133\u2134\u2139\u2145-\u2149]/u;

/**
 * Returns the lookalikes in a text, in order. In prose, these are only letters of another script
 * within a word that has ASCII letters. In a command, they are also whole words that look like
 * ASCII, wide and mathematical forms, and signs that resemble shell syntax.
 */
function lookalikesIn(text: string, isCommand: boolean): readonly Lookalike[] {
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

/**
 * The kind of a text; in a command, more blanks and more imitating signs are marked than in prose
 * or code.
 */
type Reading = "command" | "prose";

/**
 * The kind of a piece, which decides how the piece is drawn; `note` is the server's remark about
 * the text.
 */
type PieceKind = "plain" | "escape" | "invisible" | "bidi" | "lookalike" | "blanks" | "note";

/**
 * A piece of a text; `text` is drawn, and `title` says why the piece is marked (empty for plain
 * text).
 */
export interface Piece {
  readonly kind: PieceKind;
  readonly text: string;
  readonly title: string;
  /** The start and the length of the piece in the source, in UTF-16 units. */
  readonly at: number;
  readonly length: number;
}

/** Characters that draw nothing although Unicode calls them letters, marks or signs. */
export const NO_INK =
  "\\u034f\\u115f\\u1160\\u17b4\\u17b5\\u180b-\\u180f\\u2800\\u3164\\ufe00-\\ufe0f\\uffa0\\u{e0100}-\\u{e01ef}";
const HIDDEN = `[\\p{Cc}\\p{Cf}\\p{Cn}\\p{Co}\\p{Cs}\\p{Zl}\\p{Zp}${NO_INK}]`;
const HIDES = new RegExp(`^(?:(?![\\n\\t ])(?:${HIDDEN}|\\p{Zs}))$`, "u");
const BIDI = /^[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]$/;

const MAYBE_HIDDEN = new RegExp(`${HIDDEN}|\\p{Zs}`, "gu");
const PLAIN = /^[\n\t -~]*$/; // Most text matches, and can hide nothing.

/** Matches long runs of blanks, which would push a text's end out of sight. */
const EMPTY_LINES = "\\n(?:[ \\t]*\\n){3,}";
const BLANKS = { command: "(?<=[^\\s])[ \\t]{12,}|[ \\t]{41,}", prose: "[ \\t]{41,}" };
const SERVER_FOLD = "\\[… \\d+ (?:blanks|empty lines) …\\]";
const SERVER_HEAD = "^\\[[\\d,]+ lines, [\\d,]+ characters; look at all of them\\](?=\\n)";
const SERVER_ESCAPE = "\\\\u[0-9a-f]{4}|\\\\U[0-9a-f]{8}";

const SPECIAL = { command: special("command"), prose: special("prose") };

const NAMES: ReadonlyMap<number, string> = new Map([
  [0x00, t("null character")],
  [0x07, t("bell")],
  [0x08, t("backspace")],
  [0x0d, t("carriage return: what follows overwrites the line in a terminal")],
  [0x1b, t("escape: begins an order to a terminal")],
  [0x7f, t("delete")],
  [0x9b, t("begins an order to a terminal")],
  [0xa0, t("blank that does not break")],
  [0xad, t("soft hyphen")],
  [0x200b, t("blank without width")],
  [0x200c, t("joins nothing, has no width")],
  [0x200d, t("joins two signs, has no width")],
  [0x2028, t("ends a line")],
  [0x202a, t("left to right from here")],
  [0x202b, t("right to left from here")],
  [0x202d, t("forces left to right")],
  [0x202e, t("forces right to left: text reads backwards")],
  [0x2066, t("isolates left to right")],
  [0x2067, t("isolates right to left")],
  [0x2069, t("ends an isolate")],
  [0xfeff, t("blank without width")],
]);

/** Returns whether the text begins with the server's note about its length. */
export function saysItsLength(text: string): boolean {
  return new RegExp(SERVER_HEAD, "u").test(text);
}

/**
 * Splits the text into pieces; plain pieces have their source unchanged, including line breaks and
 * tabs.
 */
export function visibleText(text: string, reading: Reading): readonly Piece[] {
  const pieces: Piece[] = [];
  let last = 0;
  for (const found of text.matchAll(SPECIAL[reading])) {
    const piece = pieceOf(found[0], found.index);
    if (piece === null) continue;
    pieces.push(...plainOrAlike(text, last, found.index, reading), piece);
    last = found.index + found[0].length;
  }
  pieces.push(...plainOrAlike(text, last, text.length, reading));
  return pieces;
}

/**
 * Returns the text as one string with hidden characters as code points such as `\u202e`; long
 * blanks are kept.
 */
export function visible(text: string): string {
  if (PLAIN.test(text)) return text;
  return text.replace(MAYBE_HIDDEN, (one) => (HIDES.test(one) ? codePoint(one) : one));
}

/** Returns sentences about unusual pieces for a badge, or an empty list if no piece is unusual. */
export function warnings(pieces: readonly Piece[]): readonly string[] {
  const count = (kind: PieceKind) => pieces.filter((piece) => piece.kind === kind).length;
  const said = (number: number, words: () => string) => (number === 0 ? [] : [words()]);
  const [bidi, invisible] = [count("bidi"), count("invisible")];
  const [escapes, lookalikes] = [count("escape"), count("lookalike")];
  return [
    ...said(bidi, () =>
      plural(
        bidi,
        "A character that reverses the direction of text",
        "{0} characters that reverse the direction of text",
      ),
    ),
    ...said(invisible, () =>
      plural(invisible, "An invisible character", "{0} invisible characters"),
    ),
    ...said(escapes, () => plural(escapes, "A control character", "{0} control characters")),
    ...said(lookalikes, () =>
      plural(
        lookalikes,
        "A character that looks like another",
        "{0} characters that look like others",
      ),
    ),
  ];
}

function special(reading: Reading): RegExp {
  const parts = [
    SERVER_HEAD,
    SERVER_FOLD,
    SERVER_ESCAPE,
    EMPTY_LINES,
    BLANKS[reading],
    `(?![\\n\\t ])(?:${HIDDEN}|\\p{Zs})`,
  ];
  return new RegExp(parts.join("|"), "gu");
}

/** Returns a piece, or null if the text escapes a character that would be visible anyway. */
function pieceOf(found: string, at: number): Piece | null {
  const base = { at, length: found.length };
  if (found.startsWith("[…"))
    return { ...base, kind: "blanks", text: found, title: t("left out here, as it shows nothing") };
  if (found.startsWith("[")) return { ...base, kind: "note", text: found, title: "" };
  if (found.startsWith("\n")) {
    const number = found.split("\n").length - 2;
    return {
      ...base,
      kind: "blanks",
      text: `\n${t("[… {0} empty lines …]", number)}\n`,
      title: t("empty lines"),
    };
  }
  if (found.startsWith(" ") || found.startsWith("\t"))
    return {
      ...base,
      kind: "blanks",
      text: ` ${t("[… {0} blanks …]", found.length)} `,
      title: t("blanks"),
    };
  const isWritten = found.startsWith("\\");
  const point = isWritten ? Number.parseInt(found.slice(2), 16) : (found.codePointAt(0) ?? 0);
  if (point > 0x10ffff) return null;
  const character = String.fromCodePoint(point);
  if (isWritten && !HIDES.test(character)) return null;
  return {
    ...base,
    kind: kindOf(character),
    text: codePoint(character),
    title: titleOf(point),
  };
}

function kindOf(character: string): PieceKind {
  if (BIDI.test(character)) return "bidi";
  return /^\p{Cc}$/u.test(character) ? "escape" : "invisible";
}

function titleOf(point: number): string {
  const hex = `U+${point.toString(16).toUpperCase().padStart(4, "0")}`;
  const name = NAMES.get(point);
  return name === undefined ? t("shows nothing ({0})", hex) : `${name} (${hex})`;
}

function codePoint(character: string): string {
  const point = character.codePointAt(0) ?? 0;
  const hex = point.toString(16);
  return point < 0x10000 ? `\\u${hex.padStart(4, "0")}` : `\\U${hex.padStart(8, "0")}`;
}

function plainOrAlike(text: string, from: number, to: number, reading: Reading): readonly Piece[] {
  if (from >= to) return [];
  const slice = text.slice(from, to);
  const pieces: Piece[] = [];
  const plain = (start: number, end: number) => {
    if (start < end)
      pieces.push({
        kind: "plain",
        text: slice.slice(start, end),
        title: "",
        at: from + start,
        length: end - start,
      });
  };
  let last = 0;
  for (const { at, character, title } of lookalikesIn(slice, reading === "command")) {
    plain(last, at);
    const base = { at: from + at, length: character.length };
    pieces.push({ ...base, kind: "lookalike", text: character, title });
    last = at + character.length;
  }
  plain(last, slice.length);
  return pieces;
}
