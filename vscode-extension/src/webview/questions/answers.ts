/** Lists the answers that a question offers, and why an answer is blocked. Pure. */
import type { PermissionParams } from "../../protocol.ts";

export type Yes = "once" | "session" | "always";

/** One answer; `blocked` says why it cannot be given now, and is empty if it can. */
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
  /** Whether the lines below the text were on the screen, too: folder, sandbox, extra access. */
  readonly factsSeen: boolean;
  /** The names of the ticked hunks; null if the question has no hunks. */
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
      : "Scroll to the end of the question first"
    : "Look at all of the text first";
  const none = ready.chosen !== null && ready.chosen.length === 0 ? "No part is chosen" : "";
  const part =
    ready.chosen !== null && ready.chosen.length < asked.hunks.length
      ? "A part of an edit is allowed for once only"
      : "";
  const once: readonly Offer[] = [
    { answer: "no", label: "No", key: "N", blocked: "" },
    { answer: "once", label: "Once", key: "O", blocked: unseen || none },
  ];
  if (asked.rule === "") return once;
  return [
    ...once,
    { answer: "session", label: "This session", key: "S", blocked: unseen || none || part },
    { answer: "always", label: "Always…", key: "A", blocked: unseen || none || part },
  ];
}

/** Returns the hunks that go with an answer; null if all hunks are meant. */
export function hunksSent(
  asked: PermissionParams,
  chosen: readonly string[] | null,
  answer: "no" | Yes,
): readonly string[] | null {
  if (answer === "no" || chosen === null || chosen.length === asked.hunks.length) return null;
  return asked.hunks.map((hunk) => hunk.id).filter((id) => chosen.includes(id));
}
