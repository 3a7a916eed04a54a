/**
 * Chooses notifications for a user who does not see the panel: few notifications, and each only
 * once. Pure.
 */
import { t } from "../../../shared/l10n.ts";
import { ownQuestions } from "../../../shared/state/selectors.ts";
import type { PanelState, TurnEnding } from "../../../shared/state/state.ts";

/** One notification; `key` identifies its subject, so that it is shown once. */
export interface PanelNotice {
  readonly key: string;
  readonly about: "question" | "turn";
  readonly level: "info" | "warning";
  readonly words: string;
  /**
   * The question's nonce if the notification offers the answer No; other answers need the details
   * in the panel.
   */
  readonly nonce: string | null;
}

/** Returns the notifications since `before`: for a turn that needs the user, or for a question. */
export function noticesOf(before: PanelState, now: PanelState): readonly PanelNotice[] {
  const known = new Set(before.questions.map((one) => one.nonce));
  // A question of another session has its own notice.
  const asked = ownQuestions(now)
    .filter((one) => !known.has(one.nonce))
    .map((one): PanelNotice => {
      const words = one.kind === "permission" ? one.asked.title : one.prompt;
      const who =
        one.kind === "ask" && one.by === "model" ? t("Indwell: the model asks") : t("Indwell asks");
      return {
        key: `question ${one.nonce}`,
        about: "question",
        level: "info",
        words: `${who}: ${short(words)}`,
        nonce: one.kind === "permission" ? one.nonce : null,
      };
    });
  const ended = turnNotice(before, now);
  return ended === null ? asked : [...asked, ended];
}

function turnNotice(before: PanelState, now: PanelState): PanelNotice | null {
  const turn = now.turns.at(-1);
  if (turn === undefined || !needsSomebody(turn.ending)) return null;
  const old = before.turns.at(-1);
  // Past turns give no notification; only a turn that ran a moment ago gives one.
  const ran =
    old?.session === turn.session && old.number === turn.number && old.ending === "running";
  if (!ran) return null;
  const why = turn.message === "" ? t("the turn did not come to its end") : short(turn.message);
  return {
    key: `turn ${turn.session} ${turn.number}`,
    about: "turn",
    level: "warning",
    words: `Indwell: ${why}`,
    nonce: null,
  };
}

function needsSomebody(ending: TurnEnding): boolean {
  switch (ending) {
    case "failed":
    case "limit":
    case "repeated":
    case "budget":
    case "interrupted":
      return true;
    case "running":
    case "done":
    case "cancelled":
      return false;
    default:
      return ending satisfies never;
  }
}

function short(words: string): string {
  const line = words.replace(/\s+/g, " ").trim();
  return line.length > 120 ? `${line.slice(0, 119)}…` : line;
}
