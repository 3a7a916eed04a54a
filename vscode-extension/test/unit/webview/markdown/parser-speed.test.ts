import assert from "node:assert/strict";
import { test } from "node:test";
import { parseBlocks } from "../../../../src/webview/markdown/parser.ts";

/** The least of three runs, in milliseconds. */
function taken(text: string): number {
  const times = [1, 2, 3].map(() => {
    const begin = performance.now();
    parseBlocks(text);
    return performance.now() - begin;
  });
  return Math.min(...times);
}

for (const [name, piece] of [
  ["emphasis", "word *word* "],
  ["code", "call `run` "],
  ["links", "see [here](https://x.org) "],
  ["signs", "a_b * c ~ "],
] as const) {
  test(`twice as long a paragraph of ${name} takes about twice the time`, () => {
    taken(piece.repeat(1000));
    const [one, two] = [taken(piece.repeat(3000)), taken(piece.repeat(6000))];
    assert.ok(two < 3.2 * one + 5, `${one} ms, then ${two} ms`);
  });
}

test("code inside a link is a name and leads nowhere else, code behind it may", () => {
  const block = parseBlocks("[`a.py`](https://x.org) and `b.py`")[0];
  assert.equal(block?.kind, "prose");
  const html = block?.kind === "prose" ? block.html : "";
  assert.equal(html.split("<a ").length, 3);
  assert.match(html, /data-file="b\.py"/);
});
