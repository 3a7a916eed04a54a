/** The turns of a state, by number: they are sorted, and nearly always the last one is meant. */
import type { PanelState, Turn } from "./state.ts";

/** Where the turn `number` stands; or, below 0, `-1 - place` of where it would. */
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

/** The turn `number`, if it was fetched. */
export function turnOf(state: PanelState, number: number): Turn | undefined {
  return state.turns[placeOf(state.turns, number)];
}

/** The turns with `turn` in its place, whether one of that number was there or not. */
export function withTurn(turns: readonly Turn[], turn: Turn): readonly Turn[] {
  const place = placeOf(turns, turn.number);
  if (place === turns.length - 1 || place === -1 - turns.length) {
    // Nearly always: one copy of a list of pointers, and nothing is searched or moved.
    const grown = turns.slice();
    grown[place < 0 ? turns.length : place] = turn;
    return grown;
  }
  return place >= 0 ? turns.with(place, turn) : turns.toSpliced(-1 - place, 0, turn);
}

/** A turn of which nothing is known but its number. */
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

/** The state after `change` of the turn `number`; one that was never heard of is made. */
export function onTurn(
  state: PanelState,
  number: number,
  change: (turn: Turn) => Turn,
): PanelState {
  const before = turnOf(state, number) ?? emptyTurn(state.session ?? "", number);
  return { ...state, turns: withTurn(state.turns, change(before)) };
}
