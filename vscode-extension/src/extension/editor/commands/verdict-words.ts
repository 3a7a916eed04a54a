/** The offers to accept or reject changes in a list, and their labels. Pure. */

import type { ChangeRow, VerdictArguments, VerdictResult } from "../../../protocol.ts";
import { plural, t } from "../../../shared/l10n.ts";

/** One line of the list, which accepts or rejects some changes. */
export interface VerdictOffer {
  readonly label: string;
  readonly description: string;
  readonly argument: VerdictArguments;
}

/**
 * Returns the offers, the narrowest first; no two offers cover the same changes. `here` has the ids
 * at the cursor.
 */
export function verdictOffers(
  verdict: "accept" | "reject",
  rows: readonly ChangeRow[],
  here: readonly string[],
  uri: string | null,
): readonly VerdictOffer[] {
  const inFile = rows.filter((one) => one.uri === uri).map((one) => one.id);
  const newest = rows.reduce<ChangeRow | null>(
    (a, b) => (a === null || b.turn > a.turn ? b : a),
    null,
  );
  const ofTurn = rows.filter((one) => one.turn === newest?.turn && one.session === newest.session);
  const all = rows.map((one) => one.id);
  const candidates: readonly (readonly [string, readonly string[]])[] = [
    [plural(here.length, "this change", "these {0} changes"), here],
    [t("all changes in this file"), inFile],
    [t("all changes of turn {0}", newest?.turn ?? 0), ofTurn.map((one) => one.id)],
    [t("all pending changes"), all],
  ];
  const seen = new Set<string>();
  return candidates.flatMap(([what, hunks]) => {
    const key = hunks.join();
    if (hunks.length === 0 || seen.has(key)) return [];
    seen.add(key);
    const label = verdict === "accept" ? t("Accept {0}", what) : t("Reject {0}", what);
    // The offer names ids, so that it does not cover changes that arrive while the list is open.
    return [{ label, description: inFiles(rows, hunks), argument: { hunks: [...hunks] } }];
  });
}

function inFiles(rows: readonly ChangeRow[], hunks: readonly string[]): string {
  const wanted = new Set(hunks);
  const files = [...new Set(rows.filter((one) => wanted.has(one.id)).map((one) => one.path))];
  const where =
    files.length === 1 ? (files[0] ?? "") : plural(files.length, "one file", "{0} files");
  return plural(hunks.length, "{0} change in {1}", "{0} changes in {1}", where);
}

/**
 * Returns "warning" if some changes were not accepted or rejected, so that the user must read the
 * outcome. In all other cases, the status bar is enough.
 */
export function outcomeTone(result: VerdictResult): "warning" | "passing" {
  return result.kept.length > 0 || (result.hunks.length === 0 && result.gone.length > 0)
    ? "warning"
    : "passing";
}
