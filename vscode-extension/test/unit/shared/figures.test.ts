/** How durations, costs, tokens, shares and sizes are formatted. */
import assert from "node:assert/strict";
import { test } from "node:test";
import * as figures from "../../../src/shared/words.ts";
import { grouped } from "../../../src/shared/words.ts";

test("durations, costs, tokens, shares and sizes are rounded and get a unit", () => {
  const { durationFigure, costFigure, tokenFigure, shareFigure, sizeFigure } = figures;
  assert.deepEqual([0, 0.06, 9.94, 9.96, 59.4, 59.6, 125, 3600, 3720].map(durationFigure), [
    "0.0 s",
    "0.1 s",
    "9.9 s",
    "10 s",
    "59 s",
    "1 min",
    "2 min 5 s",
    "1 h",
    "1 h 2 min",
  ]);
  assert.deepEqual([0, 0.00001, 0.0012, 0.04, 12.345, null].map(costFigure), [
    "$0.00",
    "under $0.0001",
    "$0.0012",
    "$0.04",
    "$12.35",
    null,
  ]);
  assert.deepEqual([0, 999, 1000, 12_400, 99_960, 999_600, 2_500_000].map(tokenFigure), [
    "0",
    "999",
    "1k",
    "12.4k",
    "100k",
    "1M",
    "2.5M",
  ]);
  assert.deepEqual([0, 0.001, 0.384, 1.2].map(shareFigure), ["0 %", "under 1 %", "38 %", "120 %"]);
  assert.deepEqual([10, 12_000, 3_400_000].map(sizeFigure), ["10 B", "12 KB", "3.4 MB"]);
});

test("a comma separates groups of three digits", () => {
  assert.equal(figures.linesFigure(1234, 0), "+1,234 −0");
  assert.deepEqual([0, 999, 1000, 1_234_567].map(grouped), ["0", "999", "1,000", "1,234,567"]);
});
