/** Earlier prompts behind the up and down keys. Pure. */

/** Where the user is: `at` -1 is what was not sent yet, which `unsent` keeps meanwhile. */
export interface HistoryPlace {
  readonly at: number;
  readonly unsent: string;
  /** Words that were never sent and stood aside for an earlier prompt that was then changed, newest first. */
  readonly kept: readonly string[];
}

export const AT_DRAFT: HistoryPlace = { at: -1, unsent: "", kept: [] };

/** A step and the text that stands in the composer after it. */
export interface HistoryStep {
  readonly place: HistoryPlace;
  readonly text: string;
}

/** One prompt back in time (`prompts`: newest first); null at the oldest. Equal neighbours count once. */
export function older(
  place: HistoryPlace,
  prompts: readonly string[],
  text: string,
): HistoryStep | null {
  const unsent = place.at === -1 ? text : place.unsent;
  const all = [...place.kept, ...prompts];
  for (let at = place.at + 1; at < all.length; at += 1) {
    const prompt = all[at];
    if (prompt !== undefined && prompt !== text) {
      return { place: { ...place, at, unsent }, text: prompt };
    }
  }
  return null;
}

/** One prompt forward, and at last the words that were not sent; null where those stand already. */
export function newer(
  place: HistoryPlace,
  prompts: readonly string[],
  text: string,
): HistoryStep | null {
  if (place.at === -1) return null;
  const all = [...place.kept, ...prompts];
  for (let at = place.at - 1; at >= 0; at -= 1) {
    const prompt = all[at];
    if (prompt !== undefined && prompt !== text) return { place: { ...place, at }, text: prompt };
  }
  return { place: { ...AT_DRAFT, kept: place.kept }, text: place.unsent };
}

/** The user changed what stands there: it is the draft now, and the one before can be reached by the up key. */
export function edited(place: HistoryPlace): HistoryPlace {
  if (place.at === -1) return place;
  const kept = place.unsent.trim() === "" ? place.kept : [place.unsent, ...place.kept];
  return { at: -1, unsent: "", kept };
}
