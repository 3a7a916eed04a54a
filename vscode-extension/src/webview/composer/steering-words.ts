/** Tracks steering text that the running turn has not received yet. Pure. */
import { runningTurn } from "../../shared/selectors.ts";
import type { PanelState } from "../../shared/state.ts";

export interface SteeringWords {
  readonly words: string;
  readonly session: string;
  readonly turn: number;
}

/** Returns `before` with the text that is sent now, or `before` unchanged if no turn runs. */
export function withSteering(
  before: readonly SteeringWords[],
  state: PanelState,
  words: string,
): readonly SteeringWords[] {
  const turn = runningTurn(state);
  if (turn === undefined) return before;
  return [...before, { words: words.trim(), session: turn.session, turn: turn.number }];
}

/**
 * Returns the texts that still wait: the turn runs, no line of the turn shows the text yet, and the
 * text was not returned to `typed`.
 */
export function unheard(
  sent: readonly SteeringWords[],
  state: PanelState,
  typed: string,
): readonly SteeringWords[] {
  const turn = runningTurn(state);
  if (turn === undefined || sent.length === 0) return [];
  const heard = turn.parts.flatMap((part) =>
    part.kind === "line" && part.what === "steered" ? [part.text] : [],
  );
  return sent.filter(
    (one) =>
      one.session === turn.session &&
      one.turn === turn.number &&
      !typed.includes(one.words) &&
      !heard.some((text) => text.includes(one.words)),
  );
}
