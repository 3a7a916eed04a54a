/** The cost of a chunk of text in a long session, as the number of fields of turns that are read. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { initialState, reduce } from "../../../../src/shared/state/reducer.ts";
import type { PanelState, Turn } from "../../../../src/shared/state/state.ts";
import { emptyTurn } from "../../../../src/shared/state/turn-list.ts";

/** Counts how many fields of earlier turns are read for each of three chunks of the last turn. */
function readsOf(turns: number): readonly number[] {
  let reads = 0;
  const watched = (turn: Turn): Turn =>
    new Proxy(turn, {
      get: (target, name) => {
        reads += 1;
        return Reflect.get(target, name);
      },
    });
  const earlier = Array.from({ length: turns }, (_, index) =>
    watched({ ...emptyTurn("s", index + 1), ending: "done" }),
  );
  const last = emptyTurn("s", turns + 1);
  let state: PanelState = { ...initialState, session: "s", turns: [...earlier, last] };
  return [1, 2, 3].map((seq) => {
    reads = 0;
    const text = { type: "text", turn: turns + 1, text: `word${seq} `, restart: false } as const;
    const event = { ...text, agent: "" };
    state = reduce(state, { type: "event", session: "s", seq, event, at: seq });
    return reads;
  });
}

test("a chunk of text after 10,000 turns reads as little of the earlier turns as after 10 turns", () => {
  const few = readsOf(10);
  assert.ok(
    few.every((reads) => reads <= 10),
    `${few} reads`,
  );
  assert.deepEqual(readsOf(10_000), few);
});
