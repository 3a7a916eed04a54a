/** Lists the answers that a question offers, and why an answer is blocked. Pure. */

import type { PermissionParams } from "../../protocol.ts";
import { t } from "../../shared/l10n.ts";

export type Yes = "once" | "session" | "always";

/**
 * One answer; `blocked` says why the answer cannot be given now, and is empty if the answer can be
 * given.
 */
export interface Offer {
  readonly answer: "no" | Yes;
  readonly label: string;
  /** The key for the answer while the card has the focus. */
  readonly key: string;
  readonly blocked: string;
}

/** The conditions for a yes. */
export interface Readiness {
  /** Whether the end of the text was on the screen. */
  readonly seen: boolean;
  /**
   * Whether the lines below the text (folder, sandbox, additional access) were on the screen, too.
   */
  readonly factsSeen: boolean;
  /** The names of the ticked hunks, or null if the question has no hunks. */
  readonly chosen: readonly string[] | null;
}

/**
 * Returns the answers in the order of their buttons. "No" is the first answer; if no rule would be
 * stored, only "No" and "Once" are offered.
 */
export function offers(asked: PermissionParams, ready: Readiness): readonly Offer[] {
  const unseen = ready.seen
    ? ready.factsSeen
      ? ""
      : t("Scroll to the end of the question first")
    : t("Look at all of the text first");
  const none = ready.chosen !== null && ready.chosen.length === 0 ? t("No part is chosen") : "";
  const part =
    ready.chosen !== null && ready.chosen.length < asked.hunks.length
      ? t("A part of an edit is allowed for once only")
      : "";
  const once: readonly Offer[] = [
    { answer: "no", label: t("No"), key: "N", blocked: "" },
    { answer: "once", label: t("Once"), key: "O", blocked: unseen || none },
  ];
  if (asked.rule === "") return once;
  return [
    ...once,
    { answer: "session", label: t("This session"), key: "S", blocked: unseen || none || part },
    { answer: "always", label: t("Always…"), key: "A", blocked: unseen || none || part },
  ];
}

/** Returns the hunks to which an answer applies, or null if the answer applies to all hunks. */
export function hunksSent(
  asked: PermissionParams,
  chosen: readonly string[] | null,
  answer: "no" | Yes,
): readonly string[] | null {
  if (answer === "no" || chosen === null || chosen.length === asked.hunks.length) return null;
  return asked.hunks.map((hunk) => hunk.id).filter((id) => chosen.includes(id));
}
