/**
 * The texts about sessions in which a turn runs, waits or has ended; the panel and the notices use
 * the same texts. Pure.
 */

import { t } from "./l10n.ts";
import type { Question, SessionWork } from "./state.ts";
import { visible } from "./visible.ts";

/** The state of a session in the list. */
export const WORK_WORDS: Readonly<Record<SessionWork, string>> = {
  running: t("Running"),
  asking: t("Asks you"),
  done: t("Done"),
  failed: t("Failed"),
  stopped: t("Stopped"),
};

/** Returns the question of a session that is not shown, as one line that names the session. */
export function behindWords(question: Question, title: string): string {
  const asked = question.kind === "permission" ? question.asked.title : question.prompt;
  const line = visible(asked).replace(/\s+/g, " ").trim();
  const short = line.length > 120 ? `${line.slice(0, 119)}…` : line;
  // The server already names the session of a permission question.
  if (short.startsWith(t("In the session"))) return t("Indwell asks. {0}", short);
  return title === ""
    ? t("Another session asks: {0}", short)
    : t("The session “{0}” asks: {1}", title, short);
}
