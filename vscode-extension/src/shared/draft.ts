/** Words that come back to the composer, joined with what stands there. Pure; host and webview use the same. */
import type { PanelState } from "./state.ts";

/** Between words that came back and words that were typed since. */
const BETWEEN = "\n\n";

/**
 * The composer's text once `draft` was taken in. Nothing that was typed goes: `replace` puts the
 * draft's words first, `append` last. Words that stand there already are not put there twice.
 * `remove` takes the words away that an earlier draft brought, where the user did not change them.
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
