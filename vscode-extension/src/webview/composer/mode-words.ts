/** The modes as the footer shows them. Pure. */

export { modeWords } from "../../shared/mode-words.ts";

/** From the tightest to the freest. */
export const MODES = ["plan", "ask", "review", "auto"] as const;

/** A codicon for a mode. */
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
