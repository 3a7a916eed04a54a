/** Which rows fit what was typed behind `@`, best first. Pure. */
import type { FoundRow } from "../../../shared/messages.ts";

/** A row scored by its label and its path. */
export function ranked(
  rows: readonly FoundRow[],
  query: string,
  most: number,
): readonly FoundRow[] {
  if (query === "") return rows.slice(0, most);
  const scored = rows.flatMap((row, place) => {
    const score = Math.max(scoreOf(query, row.label) * 2, scoreOf(query, row.detail));
    return score > 0 ? [{ row, score, place }] : [];
  });
  scored.sort((one, other) => other.score - one.score || one.place - other.place);
  return scored.slice(0, most).map((one) => one.row);
}

/** 0: does not fit. Whole runs before scattered letters, beginnings of words before their middles, short before long. */
export function scoreOf(query: string, text: string): number {
  const wanted = query.toLowerCase();
  const there = text.toLowerCase();
  const short = 1 / (1 + there.length);
  const run = there.lastIndexOf(wanted);
  if (run >= 0)
    return 100 + (beginsWord(there, run) ? 50 : 0) + (there === wanted ? 50 : 0) + short;
  let from = 0;
  let score = 0;
  for (const letter of wanted) {
    const place = there.indexOf(letter, from);
    if (place < 0) return 0;
    score += beginsWord(there, place) ? 4 : place === from ? 2 : 0.5;
    from = place + letter.length;
  }
  return score + short;
}

function beginsWord(text: string, place: number): boolean {
  return place === 0 || !/[\p{L}\p{N}]/u.test(text[place - 1] ?? "");
}
