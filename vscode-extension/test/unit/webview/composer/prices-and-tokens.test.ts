import assert from "node:assert/strict";
import { test } from "node:test";
import { estimatedTokens } from "../../../../src/shared/token-estimate.ts";
import { priceWords } from "../../../../src/webview/composer/pickers.tsx";
// A test of the server (tests/house) compares the same figures with the server's estimates.
import figures from "../../shared/token-figures.json";

test("prices keep their significant digits", () => {
  assert.deepEqual([0, 0.075, 0.3, 15].map(priceWords), ["free", "$0.075", "$0.30", "$15"]);
});

test("the panel estimates tokens as the server does", () => {
  for (const { text, times, tokens } of figures)
    assert.equal(estimatedTokens(text.repeat(times)), tokens, text);
});
