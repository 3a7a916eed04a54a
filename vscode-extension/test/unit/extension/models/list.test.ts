import assert from "node:assert/strict";
import { test } from "node:test";
import { ModelList, type Offered, rowOf } from "../../../../src/extension/models/list.ts";

const SMALL: Offered = { vendor: "copilot", id: "small", maxInputTokens: 64_000 };

/** A clock whose `next` runs the next callback and returns its delay in milliseconds. */
function manualClock() {
  const due: { ms: number; run: () => void }[] = [];
  return {
    after: (ms: number, run: () => void) => {
      due.push({ ms, run });
      return () => {};
    },
    due,
    next: async () => {
      const one = due.shift();
      one?.run();
      await new Promise((resolve) => setImmediate(resolve));
      return one?.ms;
    },
  };
}

test("the row of a model has the editor's values, and null for unknown values", () => {
  const capabilities = { supportsImageToText: true, supportsToolCalling: "perhaps" };
  assert.deepEqual(rowOf({ ...SMALL, capabilities }), {
    vendor: "copilot",
    id: "small",
    window: 64_000,
    pictures: true,
    tools: null,
  });
  assert.equal(rowOf({ ...SMALL, maxInputTokens: Number.NaN }).window, null);
});

test("a change of the models is reported only after the list was requested and if the list differs", async () => {
  const clock = manualClock();
  let models: readonly Offered[] = [];
  let changes = 0;
  const list = new ModelList(
    async () => models,
    () => {
      changes += 1;
    },
    clock,
  );
  list.heard();
  assert.deepEqual(clock.due, []);
  await list.rows();
  models = [SMALL];
  list.heard();
  list.heard();
  assert.equal(clock.due.length, 1);
  assert.equal(await clock.next(), 500);
  assert.equal(changes, 1);
  assert.deepEqual(
    (await list.rows()).map((row) => row.id),
    ["small"],
  );
  // The editor reports a change because it was asked, so each check waits longer.
  for (const ms of [500, 1_000, 2_000]) {
    list.heard();
    assert.equal(await clock.next(), ms);
  }
  assert.equal(changes, 1);
});
