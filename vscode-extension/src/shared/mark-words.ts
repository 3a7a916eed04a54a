/**
 * The texts about sessions in which a turn runs, waits or has ended; the panel and the notices use
 * the same texts. Pure.
 */

import type { Question, SessionWork } from "./state.ts";
import { visible } from "./visible.ts";

/** The state of a session in the list. */
export const WORK_WORDS: Readonly<Record<SessionWork, string>> = {
  running: "Running",
  asking: "Asks you",
  done: "Done",
  failed: "Failed",
  stopped: "Stopped",
};

/** Returns the question of a session that is not shown, as one line that names the session. */
export function behindWords(question: Question, title: string): string {
  const asked = question.kind === "permission" ? question.asked.title : question.prompt;
  const line = visible(asked).replace(/\s+/g, " ").trim();
  const short = line.length > 120 ? `${line.slice(0, 119)}…` : line;
  // The server already names the session of a permission question.
  if (short.startsWith("In the session ")) return `Indwell asks. ${short}`;
  const named = title === "" ? "Another session" : `The session “${title}”`;
  return `${named} asks: ${short}`;
}
