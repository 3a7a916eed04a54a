/**
 * Finds the last of several edits of a file; only the card of the last edit has the buttons to
 * accept and reject changes. Pure.
 */
import type { Part, ToolPart } from "./state.ts";
import { callsOf } from "./tool-words.ts";

/**
 * Returns whether no later call among `parts` edits the same files. A sub-agent's edits count as
 * those of its call.
 */
export function isLastEdit(parts: readonly Part[], part: ToolPart): boolean {
  const paths = new Set(pathsOf(part));
  if (paths.size === 0) return false;
  for (let at = parts.length - 1; at >= 0; at -= 1) {
    const other = parts[at];
    if (other === part || other?.key === part.key) return true;
    if (other?.kind === "tool" && pathsOf(other).some((path) => paths.has(path))) return false;
  }
  return true;
}

function pathsOf(part: ToolPart): readonly string[] {
  return callsOf([part]).flatMap((call) => call.diffs.map((edit) => edit.path));
}
