/** Earlier prompts for the up and down keys. Pure. */

/** The user's place: `at` -1 is the unsent text, which `unsent` stores in between. */
export interface HistoryPlace {
  readonly at: number;
  readonly unsent: string;
  /** Unsent texts that were replaced by an earlier prompt that was then edited, newest first. */
  readonly kept: readonly string[];
}

export const AT_DRAFT: HistoryPlace = { at: -1, unsent: "", kept: [] };

/** A step, and the composer's text after it. */
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

/** One prompt forward, and at last the unsent text; null if that is already shown. */
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

/** The user changed the shown prompt: it is the draft now, and the up key reaches the previous draft. */
export function edited(place: HistoryPlace): HistoryPlace {
  if (place.at === -1) return place;
  const kept = place.unsent.trim() === "" ? place.kept : [place.unsent, ...place.kept];
  return { at: -1, unsent: "", kept };
}
