/** The modes and their icons for the footer. Pure. */

export { modeWords } from "../../shared/mode-words.ts";

/** The modes, from the strictest to the least strict. */
export const MODES = ["plan", "ask", "review", "auto"] as const;

/** Returns the codicon for a mode. */
export function modeIcon(mode: string): string {
  switch (mode) {
    case "plan":
      return "list-ordered";
    case "ask":
      return "question";
    case "review":
      return "diff";
    case "auto":
      return "zap";
    default:
      return "circle";
  }
}
