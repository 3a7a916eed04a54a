/** Finds the last of several edits of a file, which shows the verdicts. Pure. */
import type { Part, ToolPart } from "./state.ts";
import { callsOf } from "./tool-words.ts";

/** Is no later call among `parts` an edit of the same files? A sub-agent's edits count as its call's. */
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
