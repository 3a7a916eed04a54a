/**
 * Formats removed text so that the editor can draw it in a line: one line, no tabs, nothing hidden.
 * Pure.
 */
import { t } from "../../../shared/l10n.ts";
import { visible } from "../../../shared/visible.ts";
import { type Ghost, removedWords } from "./marks.ts";

/**
 * The maximum number of drawn characters of a removed line; the hover and the diff show the whole
 * line.
 */
const MOST = 160;

/** Replaces tabs by blanks; the editor itself draws wide characters. */
function untabbed(text: string, tabSize: number): string {
  let column = 0;
  let out = "";
  for (const sign of text) {
    const size = sign === "\t" ? tabSize - (column % tabSize) : 1;
    out += sign === "\t" ? " ".repeat(size) : sign;
    column += size;
  }
  return out;
}

/** Replaces blanks, because CSS joins ordinary blanks. */
function drawn(text: string, tabSize: number): string {
  const cut = text.length > MOST ? `${[...text.slice(0, MOST)].slice(0, -1).join("")}…` : text;
  return visible(untabbed(cut, tabSize)).replaceAll(" ", "\u00a0");
}

/** Formats words that were removed from a line. */
export function lostWords(text: string, tabSize: number): string {
  return drawn(text, tabSize);
}

/** Formats a removed line after a minus, with the number of further removed lines. */
export function ghostWords({ text, more }: Ghost, tabSize: number): string {
  const line = text === "" ? "" : `−\u00a0${drawn(text, tabSize)}`;
  if (more === 0) return line;
  const rest = text === "" ? removedWords(more) : t("{0} more", more);
  return `${line}${text === "" ? "−" : "\u00a0\u00a0…"}\u00a0${rest.replaceAll(" ", "\u00a0")}`;
}
