/** The cost of a chunk of text in a long session. */
import assert from "node:assert/strict";
import { performance } from "node:perf_hooks";
import { test } from "node:test";
import type { Action } from "../../../../src/shared/state/action.ts";
import { initialState, reduce } from "../../../../src/shared/state/reducer.ts";
import type { PanelState } from "../../../../src/shared/state/state.ts";
import { emptyTurn } from "../../../../src/shared/state/turn-list.ts";

const CHUNKS = 2000;
/**
 * The most milliseconds that a chunk may take in the extension host, with its JSON for the webview.
 */
const BOUND = 1;

function session(turns: number): PanelState {
  const numbers = Array.from({ length: turns }, (_, index) => index + 1);
  const all = numbers.map((number) => ({ ...emptyTurn("s", number), ending: "done" as const }));
  return { ...initialState, session: "s", turns: [...all, emptyTurn("s", turns + 1)] };
}

function millisecondsOf(turns: number): number {
  let state = session(turns);
  let bytes = 0;
  const begin = performance.now();
  for (let seq = 1; seq <= CHUNKS; seq += 1) {
    const event = {
      type: "text",
      turn: turns + 1,
      text: `word${seq} `,
      restart: false,
      agent: "",
    } as const;
    const action: Action = { type: "event", session: "s", seq, event, at: seq };
    state = reduce(state, action);
    bytes += JSON.stringify(action).length;
  }
  assert.ok(bytes > 0);
  return (performance.now() - begin) / CHUNKS;
}

test("a chunk of text after 10,000 turns takes at most one millisecond in the extension host", (t) => {
  millisecondsOf(10); // warm
  const [few, many] = [millisecondsOf(10), millisecondsOf(10_000)];
  t.diagnostic(`${few.toFixed(4)} ms at 10 turns, ${many.toFixed(4)} ms at 10,000`);
  assert.ok(many <= BOUND, `${many} ms`);
});
