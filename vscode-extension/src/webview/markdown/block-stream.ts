/**
 * Splits growing Markdown into blocks, of which all but the last are final; closes code and bold
 * text at its end, and limits the drawn part of a long answer. Only the text after the final blocks
 * is parsed again.
 */
import { type ParsedBlock, parseBlocks } from "./parser.ts";

/** The number of characters that are drawn at first; each "Show the rest" adds the same number. */
export const DRAWN_AT_ONCE = 300_000;

/**
 * Returns the end of the drawn part of a text. The part ends after a whole line, so that its end
 * does not change while the text grows.
 */
export function drawnEnd(text: string, most: number): number {
  if (text.length <= most) return text.length;
  const line = text.lastIndexOf("\n", most - 1) + 1;
  return line > most / 2 ? line : most;
}

interface Opened {
  readonly sign: string;
  readonly at: number;
}

/**
 * Closes code and bold text that the last paragraph opened and has not closed yet. A formatting
 * sign at the very end is left out until text follows.
 */
export function withEndClosed(text: string): string {
  const from = text.lastIndexOf("\n\n") + 1;
  let code: Opened | null = null;
  let strong: Opened | null = null;
  for (const { 0: sign, index } of text.slice(from).matchAll(/`+|\*\*|\\[`*]/g)) {
    const found = { sign, at: from + index };
    if (code !== null) code = sign === code.sign ? null : code;
    else if (sign.startsWith("`")) code = found;
    else if (sign === "**") strong = strong === null ? found : null;
  }
  const inner = code === null ? text : closed(text, code);
  return strong === null ? inner : closed(inner, strong);
}

function closed(text: string, { sign, at }: Opened): string {
  const words = text.slice(at + sign.length);
  if (words.trim() === "") return text.slice(0, at).trimEnd();
  // Bold text may not end in a blank.
  return sign === "**" ? `${text.trimEnd()}${sign}` : `${text}${sign}`;
}

/** A block to draw; a final block never changes and is never parsed again. */
export interface StreamBlock {
  readonly block: ParsedBlock;
  readonly done: boolean;
}

export class BlockStream {
  readonly #done: StreamBlock[] = [];
  #text = "";
  /** The offset at which the first block begins that is not final. */
  #from = 0;
  #open: readonly StreamBlock[] = [];
  #final = false;

  /** The number of final blocks, which come first in `blocks`. */
  get doneCount(): number {
    return this.#done.length;
  }

  get done(): readonly StreamBlock[] {
    return this.#done;
  }

  get open(): readonly StreamBlock[] {
    return this.#open;
  }

  /**
   * Sets the whole current text. Returns true if the text does not continue the previous text, so
   * that everything must be drawn again. `final` means that no text will be added, so that the last
   * block is final, too.
   */
  update(source: string, final: boolean): boolean {
    const text = source.includes("\r") ? source.replace(/\r\n?/g, "\n") : source;
    const anew = !text.startsWith(this.#text) || (this.#final && text !== this.#text);
    if (anew) {
      this.#done.length = 0;
      this.#from = 0;
    } else if (text === this.#text && final === this.#final) {
      return false;
    }
    this.#text = text;
    this.#final = final;
    this.#parse(final);
    return anew;
  }

  #parse(final: boolean): void {
    const tail = this.#text.slice(this.#from);
    const starts = lineStarts(tail);
    // The line that is still being written may turn out to continue the block before.
    const settled = final ? Number.POSITIVE_INFINITY : starts.length - 1;
    const blocks = parseBlocks(tail);
    let count = 0;
    while (count < blocks.length && (final || (blocks[count + 1]?.start ?? settled) < settled))
      count += 1;
    for (const block of blocks.slice(0, count)) this.#done.push({ block, done: true });
    const next = blocks[count];
    if (count > 0)
      this.#from += next === undefined ? tail.length : (starts[next.start] ?? tail.length);
    this.#open = shown(blocks.slice(count), this.#text.slice(this.#from));
  }
}

/**
 * Returns the blocks that are not final in the form in which they are drawn: what the last block
 * has opened, such as code, is closed.
 */
function shown(open: readonly ParsedBlock[], tail: string): readonly StreamBlock[] {
  const closed = open.at(-1)?.kind === "prose" ? withEndClosed(tail) : tail;
  const blocks = closed === tail ? open : parseBlocks(closed);
  return blocks.map((block) => ({ block, done: false }));
}

/**
 * Returns the offsets at which lines begin; the last line is still being written, and may be empty.
 */
function lineStarts(text: string): readonly number[] {
  const starts = [0];
  for (let at = text.indexOf("\n"); at >= 0; at = text.indexOf("\n", at + 1)) starts.push(at + 1);
  return starts;
}
