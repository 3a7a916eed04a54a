import assert from "node:assert/strict";
import { test } from "node:test";
import { parseBlocks } from "../../../../src/webview/markdown/parser.ts";

/** The least of three runs, in milliseconds of the processor: waiting for one does not count. */
function taken(text: string): number {
  const times = [1, 2, 3].map(() => {
    const begin = process.cpuUsage();
    parseBlocks(text);
    const { user, system } = process.cpuUsage(begin);
    return (user + system) / 1000;
  });
  return Math.min(...times);
}

for (const [name, piece] of [
  ["emphasis", "word *word* "],
  ["code", "call `run` "],
  ["links", "see [here](https://x.org) "],
  ["signs", "a_b * c ~ "],
] as const) {
  test(`a paragraph of ${name} that is eight times as long does not take 64 times the time`, () => {
    taken(piece.repeat(1000));
    const [one, eight] = [taken(piece.repeat(1000)), taken(piece.repeat(8000))];
    assert.ok(eight < 24 * one + 20, `${one} ms, then ${eight} ms`);
  });
}

test("code inside a link is a name and leads nowhere else, code behind it may", () => {
  const block = parseBlocks("[`a.py`](https://x.org) and `b.py`")[0];
  assert.equal(block?.kind, "prose");
  const html = block?.kind === "prose" ? block.html : "";
  assert.equal(html.split("<a ").length, 3);
  assert.match(html, /data-file="b\.py"/);
});
