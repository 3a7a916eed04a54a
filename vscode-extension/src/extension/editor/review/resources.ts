/** Chooses the pairs of texts that a review shows. Pure: URIs are strings. */

import type { ChangeRow } from "../../../protocol.ts";
import { t } from "../../../shared/l10n.ts";

/** Selects some of the changes; if all fields are empty, every pending change. */
export interface Span {
  readonly uri?: string | null;
  readonly session?: string | null;
  readonly turn?: number | null;
}

/** One file of a review; one side is null for a new or deleted file. */
export interface Compared {
  readonly uri: string;
  readonly path: string;
  readonly hasBefore: boolean;
  readonly hasAfter: boolean;
}

/** Returns the files of some changes, in order. */
export function compared(rows: readonly ChangeRow[]): readonly Compared[] {
  const found = new Map<string, Compared>();
  for (const row of rows) {
    const before = found.get(row.uri);
    found.set(row.uri, {
      uri: row.uri,
      path: row.path,
      hasBefore: (before?.hasBefore ?? true) && row.kind !== "create",
      hasAfter: (before?.hasAfter ?? true) && row.kind !== "delete",
    });
  }
  return [...found.values()];
}

/**
 * Returns the query of a base's URI, which names the turn before which the text is read; may be
 * empty.
 */
export function baseQuery(span: Span): string {
  if (!span.session) return "";
  return `session=${span.session}${span.turn ? `&turn=${span.turn}` : ""}`;
}

/** Returns the title of a review of several files; the editor adds the number of files. */
export function reviewTitle(span: Span): string {
  return span.turn ? t("Indwell: Changes of turn {0}", span.turn) : t("Indwell: Pending changes");
}
