/** Finds the token at the caret: a mention, a command, or plain text. Pure. */

/**
 * A token: `start` and `end` are UTF-16 offsets of the whole token; `query` is the token without
 * its first sign.
 */
export interface CompletionToken {
  readonly what: "@" | "/";
  readonly start: number;
  readonly end: number;
  readonly query: string;
}

/** A longer word, in characters, is not completed. */
const LONGEST = 200;

/**
 * Returns the token that ends at the caret, or null if there is no token. `@` begins a token only
 * at the start of a word, `/` only as the very first character of the text (a command may have one
 * value after a blank).
 */
export function tokenAt(text: string, caret: number): CompletionToken | null {
  const before = text.slice(Math.max(0, caret - LONGEST), caret);
  if (/^\/[^\s/]*(?: [^\s]*)?$/.test(before) && caret <= LONGEST) {
    return { what: "/", start: 0, end: caret, query: before.slice(1) };
  }
  const mention = /(?:^|[\s([{"'`])@([^\s@]*)$/.exec(before);
  if (mention === null) return null;
  const query = mention[1] ?? "";
  return { what: "@", start: caret - query.length - 1, end: caret, query };
}
