/** Reduces the list of past sessions, page by page. */
import type { SessionsResult } from "../protocol.ts";
import type { SessionListState } from "./state.ts";

/** The list after a page, while one is fetched (`result` null), or closed. */
export function listed(
  list: SessionListState | null,
  query: string,
  result: SessionsResult | null,
  where: "replace" | "after" | "close",
): SessionListState | null {
  if (where === "close") return null;
  const rows = list?.rows ?? [];
  if (result === null) {
    // The old rows stay while the new ones are fetched: nothing flickers.
    return { query, rows, more: list?.more ?? false, loading: true };
  }
  if (list === null || list.query !== query) return list; // closed, or something else was typed since
  const known = new Set(where === "after" ? rows.map((row) => row.id) : []);
  const fresh = result.sessions.filter((row) => !known.has(row.id));
  return {
    query,
    rows: where === "after" ? [...rows, ...fresh] : fresh,
    more: result.more,
    loading: false,
  };
}
