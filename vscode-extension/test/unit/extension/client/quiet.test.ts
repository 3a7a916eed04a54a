import assert from "node:assert/strict";
import { test } from "node:test";
import { CALM, disturbed, due } from "../../../../src/extension/client/quiet.ts";

test("nothing is due without a disturbance", () => {
  assert.equal(due(CALM, 1_000, 150, 1_000), null);
});

test("the action is due after a pause without disturbances", () => {
  const quiet = disturbed(disturbed(CALM, 0), 100);
  assert.equal(due(quiet, 200, 150, 1_000), 50);
  assert.equal(due(quiet, 250, 150, 1_000), 0);
});

test("the action is due after the longest delay even without a pause", () => {
  let quiet = CALM;
  for (let now = 0; now <= 950; now += 50) quiet = disturbed(quiet, now);
  assert.equal(due(quiet, 950, 150, 1_000), 50);
});
