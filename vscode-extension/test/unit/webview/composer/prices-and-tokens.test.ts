import assert from "node:assert/strict";
import { test } from "node:test";
import { estimatedTokens } from "../../../../src/webview/composer/chips.tsx";
import { priceWords } from "../../../../src/webview/composer/pickers.tsx";

test("prices keep their significant digits", () => {
  assert.deepEqual([0, 0.075, 0.3, 15].map(priceWords), ["free", "$0.075", "$0.30", "$15"]);
});

test("tokens are estimated from the numbers of ASCII and other characters", () => {
  assert.equal(estimatedTokens("abcdefgh"), 2);
  assert.equal(estimatedTokens("日本"), 3);
  assert.equal(estimatedTokens(""), 0);
});
