import assert from "node:assert/strict";
import { test } from "node:test";
import { ModelList, type Offered, rowOf } from "../../../../src/extension/models/list.ts";

const SMALL: Offered = { vendor: "copilot", id: "small", maxInputTokens: 64_000 };

/** Says after how many milliseconds something is due, and does it. */
function dueClock() {
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

test("a model is told with what the editor knows of it, and null where it does not say", () => {
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

test("a change is told once somebody has asked for the list, and only if it is one", async () => {
  const clock = dueClock();
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
  // The editor says so because it was asked: it is looked at ever more rarely.
  for (const ms of [500, 1_000, 2_000]) {
    list.heard();
    assert.equal(await clock.next(), ms);
  }
  assert.equal(changes, 1);
});
