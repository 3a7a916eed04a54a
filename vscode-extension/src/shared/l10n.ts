/**
 * Translates the texts of the extension and of the panel. English is the source: a text without a
 * translation is shown in English. Each program calls `speak` once, before any other module of
 * ours is loaded, so constants of modules may be translated too.
 */

/**
 * The translations of one language: English text to translated text. In a package, `shortKey` of
 * the English text takes the text's place.
 */
export type Bundle = Readonly<Record<string, string>>;

/** A language, as VS Code names it (`de`, `zh-cn`), and its translations. */
export interface Language {
  readonly name: string;
  readonly bundle: Bundle;
}

/** A value of a placeholder; a number becomes its plain digits, as line 1234 needs it. */
export type Value = string | number;

const ENGLISH: Language = { name: "en", bundle: {} };

let current = ENGLISH;
let plurals = new Intl.PluralRules("en");

/** Sets the language of all later texts; without translations, the language is English. */
export function speak(language: Language | null): void {
  current = language ?? ENGLISH;
  plurals = new Intl.PluralRules(current.name);
}

/** Returns the language of the texts. */
export function spoken(): Language {
  return current;
}

/** Returns the translation of an English text, with `{0}`, `{1}` … replaced by the values. */
export function t(text: string, ...values: readonly Value[]): string {
  const { bundle } = current;
  return filled(bundle[text] ?? bundle[shortKey(text)] ?? text, values);
}

/**
 * Returns the translation of the text for one thing or for several, as the language counts them.
 * `{0}` is the count as `number` formats it, `{1}` … are the values.
 */
export function plural(
  count: number,
  one: string,
  other: string,
  ...values: readonly Value[]
): string {
  return t(plurals.select(count) === "one" ? one : other, number(count), ...values);
}

/** Formats a number with the digits and signs of the language. */
export function number(value: number, options?: Intl.NumberFormatOptions): string {
  return withBlanks(formatOf(options).format(value));
}

/** Formats a date or a time of this machine's time zone. */
export function date(value: Date, options: Intl.DateTimeFormatOptions): string {
  return withBlanks(new Intl.DateTimeFormat(current.name, options).format(value));
}

/** Hidden characters are drawn as code points, so a figure has ordinary blanks. */
function withBlanks(figure: string): string {
  return figure.replace(/[\u00a0\u202f]/g, " ");
}

const shortKeys = new Map<string, string>();

/**
 * Returns the name of a text in the bundles of a package, where English texts would take a third of
 * the space: 24 bits of an FNV-1a hash in four letters. A test finds texts of equal names.
 */
export function shortKey(text: string): string {
  const known = shortKeys.get(text);
  if (known !== undefined) return known;
  let hash = 0x811c9dc5;
  for (const sign of text) hash = Math.imul(hash ^ (sign.codePointAt(0) ?? 0), 0x01000193);
  const bits = (hash ^ (hash >>> 24)) & 0xffffff;
  const key = [18, 12, 6, 0].map((shift) => LETTERS[(bits >>> shift) & 63]).join("");
  shortKeys.set(text, key);
  return key;
}

const LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

function filled(text: string, values: readonly Value[]): string {
  if (values.length === 0) return text;
  return text.replace(/\{(\d+)\}/g, (hole, index: string) => {
    const value = values[Number(index)];
    return value === undefined ? hole : String(value);
  });
}

const formats = new Map<string, Intl.NumberFormat>();

/** To make a format takes longer than to use it. */
function formatOf(options: Intl.NumberFormatOptions | undefined): Intl.NumberFormat {
  const key = `${current.name} ${options === undefined ? "" : JSON.stringify(options)}`;
  const known = formats.get(key) ?? new Intl.NumberFormat(current.name, options);
  formats.set(key, known);
  return known;
}
