import assert from "node:assert/strict";
import { test } from "node:test";
import { parseBlocks } from "../../../../src/webview/markdown/parser.ts";
import { assertNearlyLinear } from "../../cpu-time.ts";

for (const [name, piece] of [
  ["emphasis", "word *word* "],
  ["code", "call `run` "],
  ["links", "see [here](https://x.org) "],
  ["punctuation", "a_b * c ~ "],
] as const) {
  test(`parsing an eight times longer paragraph of ${name} takes at most 24 times the CPU time`, () => {
    assertNearlyLinear((times) => void parseBlocks(piece.repeat(1000 * times)));
  });
}

test("code inside a link gets no link of its own, and code after the link may", () => {
  const block = parseBlocks("[`a.py`](https://x.org) and `b.py`")[0];
  assert.equal(block?.kind, "prose");
  const html = block?.kind === "prose" ? block.html : "";
  assert.equal(html.split("<a ").length, 3);
  assert.match(html, /data-file="b\.py"/);
});
