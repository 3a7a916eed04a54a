import assert from "node:assert/strict";
import { test } from "node:test";
import {
  initialState,
  type LinePart,
  type PanelState,
} from "../../../../src/shared/state/state.ts";
import { emptyTurn } from "../../../../src/shared/state/turn-list.ts";
import { unheard, withSteering } from "../../../../src/webview/composer/sending.tsx";

function running(number: number, ...shown: readonly string[]): PanelState {
  const parts = shown.map(
    (text, index): LinePart => ({ kind: "line", key: String(index), what: "steered", text }),
  );
  return { ...initialState, turns: [{ ...emptyTurn("s", number), ending: "running", parts }] };
}

test("steering text is pending until a line of the turn contains it", () => {
  const sent = withSteering(
    withSteering([], running(2), "mind the refunds\n"),
    running(2),
    "and taxes",
  );
  assert.deepEqual(
    unheard(sent, running(2), "").map((one) => one.words),
    ["mind the refunds", "and taxes"],
  );
  assert.deepEqual(
    unheard(sent, running(2, "mind the refunds"), "").map((one) => one.words),
    ["and taxes"],
  );
});

test("no steering text is pending after the turn ends, another turn begins or the text returns as a draft", () => {
  const sent = withSteering([], running(2), "words");
  assert.deepEqual(unheard(sent, running(3), ""), []);
  assert.deepEqual(unheard(sent, initialState, ""), []);
  assert.deepEqual(unheard(sent, running(2), "words that came back"), []);
  assert.deepEqual(withSteering([], initialState, "words"), []);
});
