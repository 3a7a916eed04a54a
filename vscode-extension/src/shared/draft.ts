/** Joins returned text with the composer's text. Pure; used by both host and webview. */
import type { PanelState } from "./state.ts";

/** The separator between returned text and text typed since. */
const BETWEEN = "\n\n";

/**
 * Returns the composer's text after `draft` is added. Typed text is never lost: `replace` puts the
 * draft's text first, `append` last. Text that is already in the composer is not repeated. `remove`
 * deletes the text of an earlier draft, unless the user changed it.
 */
export function withDraft(
  typed: string,
  draft: Pick<PanelState["draft"], "text" | "mode">,
): string {
  const words = draft.text;
  if (words.trim() === "") return typed;
  if (draft.mode === "remove") return without(typed, words);
  if (typed.trim() === "") return words;
  const first = draft.mode === "replace" ? words : typed;
  const last = draft.mode === "replace" ? typed : words;
  const there = draft.mode === "replace" ? typed.startsWith(words) : typed.endsWith(words);
  return there ? typed : `${first.trimEnd()}${BETWEEN}${last.trimStart()}`;
}

function without(typed: string, words: string): string {
  if (typed.trim() === words.trim()) return "";
  const before = `${words.trimEnd()}${BETWEEN}`;
  if (typed.startsWith(before)) return typed.slice(before.length);
  const behind = `${BETWEEN}${words.trimStart()}`;
  return typed.endsWith(behind) ? typed.slice(0, -behind.length) : typed;
}
