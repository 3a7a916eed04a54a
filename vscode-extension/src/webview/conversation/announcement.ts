/** The one sentence that a screen reader reads about the panel's state. Pure. */
import { ownQuestions } from "../../shared/selectors.ts";
import type { PanelState, Turn, TurnEnding } from "../../shared/state.ts";

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
  const how = ENDINGS[turn.ending];
  if (how === "") return "";
  const why = turn.ending === "done" || turn.message === "" ? "" : ` ${turn.message}`;
  return `Turn ${turn.number} ${how}.${why}`;
}

const ENDINGS: Readonly<Record<TurnEnding, string>> = {
  running: "",
  done: "done",
  cancelled: "stopped",
  failed: "failed",
  limit: "stopped at the limit of rounds",
  repeated: "stopped: the same call again and again",
  budget: "stopped at the budget",
  interrupted: "was interrupted",
};
