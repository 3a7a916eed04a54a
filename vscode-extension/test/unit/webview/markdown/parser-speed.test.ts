import assert from "node:assert/strict";
import { test } from "node:test";
import { parseBlocks } from "../../../../src/webview/markdown/parser.ts";

/** The shortest of three runs, in milliseconds of CPU time. */
function cpuMilliseconds(text: string): number {
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
  ["punctuation", "a_b * c ~ "],
] as const) {
  test(`parsing an eight times longer paragraph of ${name} takes at most 24 times the CPU time`, () => {
    cpuMilliseconds(piece.repeat(1000));
    const [one, eight] = [cpuMilliseconds(piece.repeat(1000)), cpuMilliseconds(piece.repeat(8000))];
    assert.ok(eight < 24 * one + 20, `${one} ms, then ${eight} ms`);
  });
}

test("code inside a link gets no link of its own, and code after the link may", () => {
  const block = parseBlocks("[`a.py`](https://x.org) and `b.py`")[0];
  assert.equal(block?.kind, "prose");
  const html = block?.kind === "prose" ? block.html : "";
  assert.equal(html.split("<a ").length, 3);
  assert.match(html, /data-file="b\.py"/);
});
