/**
 * The texts of the field at the selection: its lines, the current step, and how its turn ended.
 * Pure.
 */

import type { Event, TurnFinished } from "../../../protocol.ts";
import { t } from "../../../shared/l10n.ts";
import { toolLook } from "../../../shared/tool-words.ts";
import { visible } from "../../../shared/visible.ts";

/** Returns `line 3` or `lines 3–9`; the arguments count from 0. */
export function linesWords(first: number, last: number): string {
  return first === last ? t("line {0}", first + 1) : t("lines {0}–{1}", first + 1, last + 1);
}

/** Returns the step that an event begins, or null if the event is no step to show. */
export function stepWords(event: Event): string | null {
  if (!("agent" in event) || event.agent !== "") return null;
  switch (event.type) {
    case "thinking":
      return t("Thinking");
    case "text":
      return t("Writing");
    case "toolStarted":
      return visible(`${toolLook(event.name).verb} ${event.target}`.trim());
    default:
      return null;
  }
}

/** The outcome of the turn, for the field. */
export type TurnOutcome =
  /** The turn made changes, or the user stopped the turn. */
  | { readonly kind: "done" }
  /** The turn changed nothing, but gave an answer, which is in the chat. */
  | { readonly kind: "answered" }
  | { readonly kind: "failed"; readonly words: string };

export function turnOutcome({ ending, changes, message }: TurnFinished): TurnOutcome {
  if (changes.length > 0 || ending === "cancelled") return { kind: "done" };
  if (ending === "done") return { kind: "answered" };
  return { kind: "failed", words: message || t("The turn did not finish. Nothing was changed.") };
}
