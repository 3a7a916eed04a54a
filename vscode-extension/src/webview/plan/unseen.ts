/** Checks whether drawn Markdown hides words of its source: an approved plan must have been visible. Pure. */

/**
 * Returns false only if all letters of `source` are in `drawn`, in order. Markdown hides titles of
 * links, text after a fence's language, cells beyond a table's last column, and possibly more.
 */
export function hidesWords(source: string, drawn: string): boolean {
  const there = lettersOf(drawn);
  let at = 0;
  for (const letter of lettersOf(source)) {
    const found = there.indexOf(letter, at);
    if (found < 0) return true;
    at = found + 1;
  }
  return false;
}

function lettersOf(text: string): string {
  return text.toLowerCase().replace(/[^\p{L}]+/gu, "");
}
