/** Estimates tokens by the rule of the server (`indwell/context/tokens.py`), so that both show the same figure. */

/** A longer text is sampled in evenly spread parts, as in the server. */
const SAMPLED_FROM = 30_000;
const PIECE = 509;
const STEP = 2029;

/** The tokens of each match of a pattern, for ASCII. */
const WEIGHTS: readonly (readonly [RegExp, number])[] = [
  [/[a-z]/g, 0.12],
  [/[A-Z]/g, 0.29],
  [/[0-9]/g, 0.365],
  [/[\r\n]/g, 0.82],
  [/[\r\n][ \t]/g, 0.33],
  [/[^a-zA-Z0-9\r\n \t\u{80}-\u{10ffff}]/gu, 0.475],
  [/[a-z][A-Z]/g, 1.22],
  [/[ \t][ \t]/g, 0.05],
  [/\t/g, 0.32],
  [/[ \t](?=[^a-zA-Z0-9\r\n \t\u{80}-\u{10ffff}])/gu, 0.26],
  [/[ \t][0-9]/g, 0.5],
  [/[a-z]{16}/g, 6],
  [/[^a-zA-Z0-9][a-zA-Z]/g, 0.545],
  [/[^a-zA-Z0-9][0-9]/g, 1.25],
  [/[a-zA-Z][0-9]/g, 1.4],
];

/** The last first byte of a script's UTF-8, and the tokens of one of its characters. */
const SCRIPTS: readonly (readonly [number, number])[] = [
  [0xc3, 1.12],
  [0xc9, 2.05],
  [0xcf, 0.48],
  [0xd3, 0.38],
  [0xdf, 0.49],
  [0xe0, 0.5],
  [0xe1, 0.7],
  [0xe2, 0.6],
  [0xe3, 0.76],
  [0xe9, 1.06],
  [0xee, 0.83],
  [0xef, 0.5],
  [0xf7, 2.6],
];

/** Returns the estimated tokens of a text, rather too high; 0 only for the empty text. */
export function estimatedTokens(text: string): number {
  if (text === "") return 0;
  if (text.length <= SAMPLED_FROM) return Math.floor(weight(text)) + 1;
  let sample = "";
  for (let at = 0; at < text.length; at += STEP) sample += text.slice(at, at + PIECE);
  return Math.floor((weight(sample) * text.length) / sample.length) + 1;
}

function weight(text: string): number {
  let tokens = 0;
  for (const [pattern, cost] of WEIGHTS) tokens += (text.match(pattern)?.length ?? 0) * cost;
  for (const character of text.match(/[\u{80}-\u{10ffff}]/gu) ?? []) {
    const lead = firstByte(character.codePointAt(0) ?? 0);
    tokens += SCRIPTS.find(([last]) => lead <= last)?.[1] ?? 0;
  }
  return tokens;
}

/** Returns the first byte of a character that UTF-8 writes in several bytes. */
function firstByte(code: number): number {
  if (code < 0x800) return 0xc0 | (code >> 6);
  return code < 0x10000 ? 0xe0 | (code >> 12) : 0xf0 | (code >> 18);
}
