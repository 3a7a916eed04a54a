/** Implements the up and down keys for earlier prompts. Pure. */

/**
 * The user's position in the history. If `at` is -1, the unsent text is shown; `unsent` stores this
 * text while another prompt is shown.
 */
export interface HistoryPlace {
  readonly at: number;
  readonly unsent: string;
  /** Unsent texts that an edited earlier prompt has replaced, newest first. */
  readonly kept: readonly string[];
}

export const AT_DRAFT: HistoryPlace = { at: -1, unsent: "", kept: [] };

/** A step in the history, and the composer's text after the step. */
export interface HistoryStep {
  readonly place: HistoryPlace;
  readonly text: string;
}

/**
 * Goes one prompt back in time (`prompts` has the newest first); returns null if the oldest prompt
 * is already shown. Equal neighbours count once.
 */
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

/**
 * Goes one prompt forward, and finally to the unsent text; returns null if the unsent text is
 * already shown.
 */
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

/**
 * Handles an edit of the shown prompt: the edited prompt becomes the draft, and the up key reaches
 * the previous draft.
 */
export function edited(place: HistoryPlace): HistoryPlace {
  if (place.at === -1) return place;
  const kept = place.unsent.trim() === "" ? place.kept : [place.unsent, ...place.kept];
  return { at: -1, unsent: "", kept };
}
