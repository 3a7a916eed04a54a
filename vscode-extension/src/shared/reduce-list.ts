/** Reduces the list of past sessions, page by page. */
import type { SessionsResult } from "../protocol.ts";
import type { SessionListState } from "./state.ts";

/**
 * Returns the list of sessions after a page of rows; if `result` is null, the page is still being
 * fetched.
 */
export function listed(
  list: SessionListState | null,
  query: string,
  result: SessionsResult | null,
  where: "replace" | "after" | "close",
): SessionListState | null {
  if (where === "close") return null;
  const rows = list?.rows ?? [];
  if (result === null) {
    // The old rows stay while the new ones are fetched, so that nothing flickers.
    return { query, rows, more: list?.more ?? false, loading: true };
  }
  // The list is closed, or the query has changed since.
  if (list === null || list.query !== query) return list;
  const known = new Set(where === "after" ? rows.map((row) => row.id) : []);
  const fresh = result.sessions.filter((row) => !known.has(row.id));
  return {
    query,
    rows: where === "after" ? [...rows, ...fresh] : fresh,
    more: result.more,
    loading: false,
  };
}
