/** Matches labels fuzzily, as a quick picker does. Pure. */

/** A match: a higher `score` is better, and `at` has the positions of the found letters. */
export interface FuzzyMatch {
  readonly score: number;
  readonly at: readonly number[];
}

/**
 * Matches if `label` contains all letters of `query` in order, ignoring case. Consecutive letters
 * rank above scattered letters, and beginnings of words above middles.
 */
export function fuzzy(query: string, label: string): FuzzyMatch | null {
  const wanted = query.toLowerCase();
  const text = label.toLowerCase();
  if (wanted === "") return { score: 0, at: [] };
  const run = bestRun(wanted, text);
  if (run !== -1) {
    const at = Array.from(wanted, (_, index) => run + index);
    return { score: 100 + (beginsWord(text, run) ? 50 : 0) - run / 100, at };
  }
  const at: number[] = [];
  let score = 0;
  let from = 0;
  for (const letter of wanted) {
    const place = text.indexOf(letter, from);
    if (place === -1) return null;
    score += beginsWord(text, place) ? 8 : place === from && at.length > 0 ? 4 : 1;
    at.push(place);
    from = place + letter.length;
  }
  return { score: score - text.length / 1000, at };
}

/** Splits `label` into parts, with the matches marked. */
export function marked(
  label: string,
  at: readonly number[],
): readonly { readonly text: string; readonly hit: boolean }[] {
  const hits = new Set(at);
  const pieces: { text: string; hit: boolean }[] = [];
  for (let index = 0; index < label.length; index += 1) {
    const hit = hits.has(index);
    const last = pieces.at(-1);
    if (last?.hit === hit) last.text += label[index];
    else pieces.push({ text: label[index] ?? "", hit });
  }
  return pieces;
}

/**
 * Returns the position of a match at the beginning of a word. If there is none, returns the last
 * match, which is most likely in the name at the end of a path, or -1 without any match.
 */
function bestRun(wanted: string, text: string): number {
  for (let place = text.indexOf(wanted); place !== -1; place = text.indexOf(wanted, place + 1)) {
    if (beginsWord(text, place)) return place;
  }
  return text.lastIndexOf(wanted);
}

function beginsWord(text: string, place: number): boolean {
  return place === 0 || !/[\p{L}\p{N}]/u.test(text[place - 1] ?? "");
}
