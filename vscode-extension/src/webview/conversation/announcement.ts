/** The one sentence that a screen reader reads about the panel's state. Pure. */
import { t } from "../../shared/l10n.ts";
import { ownQuestions } from "../../shared/selectors.ts";
import type { PanelState, Turn } from "../../shared/state.ts";

/**
 * Returns the text to announce, or an empty text while a turn runs without a question or an error,
 * so that streaming stays silent.
 */
export function announcement(state: PanelState): string {
  // The code in questions/ announces questions itself, at once.
  if (ownQuestions(state).length > 0) return "";
  // Banners are live regions themselves, and would be read twice.
  if (state.banner?.level === "error" || state.connection.kind === "stopped") return "";
  const last = state.turns.at(-1);
  return last === undefined ? "" : ofTurn(last);
}

function ofTurn(turn: Turn): string {
  const how = endingOf(turn);
  const why = turn.ending === "done" || turn.message === "" ? "" : ` ${turn.message}`;
  return how === "" ? "" : `${how}${why}`;
}

function endingOf({ ending, number }: Turn): string {
  switch (ending) {
    case "running":
      return "";
    case "done":
      return t("Turn {0} done.", number);
    case "cancelled":
      return t("Turn {0} stopped.", number);
    case "failed":
      return t("Turn {0} failed.", number);
    case "limit":
      return t("Turn {0} stopped at the limit of rounds.", number);
    case "repeated":
      return t("Turn {0} stopped: the same call again and again.", number);
    case "budget":
      return t("Turn {0} stopped at the budget.", number);
    case "interrupted":
      return t("Turn {0} was interrupted.", number);
    default:
      return ending satisfies never;
  }
}
