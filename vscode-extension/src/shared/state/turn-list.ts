/**
 * Finds and changes the turns of a state by number. The turns are sorted, and most calls are about
 * the last turn.
 */
import type { PanelState, Turn } from "./state.ts";

/**
 * Returns the index of the turn `number`; if the turn is missing, returns `-1 - index`, where
 * `index` is the position at which the turn would be.
 */
export function placeOf(turns: readonly Turn[], number: number): number {
  let low = 0;
  let high = turns.length - 1;
  if (turns[high]?.number === number) return high;
  while (low <= high) {
    const middle = (low + high) >> 1;
    const found = turns[middle]?.number ?? 0;
    if (found === number) return middle;
    if (found < number) low = middle + 1;
    else high = middle - 1;
  }
  return -1 - low;
}

/** Returns the turn `number`, or undefined if this turn was not fetched. */
export function turnOf(state: PanelState, number: number): Turn | undefined {
  return state.turns[placeOf(state.turns, number)];
}

/** Returns the turns with `turn` added or replaced. */
export function withTurn(turns: readonly Turn[], turn: Turn): readonly Turn[] {
  const place = placeOf(turns, turn.number);
  if (place === turns.length - 1 || place === -1 - turns.length) {
    // The usual case: one copy of the list, without a search or shift.
    const grown = turns.slice();
    grown[place < 0 ? turns.length : place] = turn;
    return grown;
  }
  return place >= 0 ? turns.with(place, turn) : turns.toSpliced(-1 - place, 0, turn);
}

/** Returns a turn of which only the number is known. */
export function emptyTurn(session: string, number: number): Turn {
  return {
    session,
    number,
    words: "",
    title: "",
    chips: [],
    images: [],
    parts: [],
    ending: "running",
    mode: null,
    model: "",
    message: "",
    draft: "",
    retryable: false,
    outgrown: false,
    input: 0,
    cached: 0,
    thinking: 0,
    output: 0,
    cost: null,
    seconds: null,
    verified: "",
    changes: [],
    left: false,
    whole: false,
    round: 0,
    next: null,
  };
}

/**
 * Applies `change` to the turn `number` and returns the new state; an unknown turn is created
 * first.
 */
export function onTurn(
  state: PanelState,
  number: number,
  change: (turn: Turn) => Turn,
): PanelState {
  const before = turnOf(state, number) ?? emptyTurn(state.session ?? "", number);
  return { ...state, turns: withTurn(state.turns, change(before)) };
}
