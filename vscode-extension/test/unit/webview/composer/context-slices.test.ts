import assert from "node:assert/strict";
import { test } from "node:test";
import type { BlockRow, WindowPartRow } from "../../../../src/protocol.ts";
import {
  cacheHitRate,
  contextSlices,
  headroomWords,
  tierRows,
  windowWords,
} from "../../../../src/webview/composer/context-breakdown.tsx";

function block(source: string, tokens: number, more: Partial<BlockRow> = {}): BlockRow {
  return {
    message: 0,
    role: "user",
    kind: "text",
    source,
    tier: 1,
    tokens,
    turn: 1,
    pinned: false,
    compactable: true,
    anchor: false,
    state: "sent",
    altered: false,
    first: 0,
    last: 0,
    why: "",
    preview: "",
    ...more,
  };
}

test("sources add up to slices that people know, in the order of a request, with their share", () => {
  const slices = contextSlices({
    sources: {
      user: 100,
      schemas: 500,
      assistant: 100,
      tool: 200,
      system: 80,
      reminder: 20,
      novelty: 0,
    },
    blocks: [],
  });
  assert.deepEqual(
    slices.map((slice) => [slice.name, slice.tokens, slice.share, slice.cached]),
    [
      ["System prompt", 100, 0.1, 0],
      ["Tool descriptions", 500, 0.5, 0],
      ["Tool results", 200, 0.2, 0],
      ["Chat", 200, 0.2, 0],
    ],
  );
});

test("a source that nobody here knows is counted all the same", () => {
  const slices = contextSlices({ sources: { novelty: 7 }, blocks: [] });
  assert.deepEqual(slices, [{ name: "Other", tokens: 7, cached: 0, share: 1 }]);
});

test("cached is what was sent and stands before the last mark that was sent", () => {
  const slices = contextSlices({
    sources: { schemas: 500, user: 60, tool: 300, assistant: 40 },
    blocks: [
      block("schemas", 500, { anchor: true }),
      block("user", 60),
      block("tool", 200, { anchor: true }),
      block("tool", 100),
      block("assistant", 40, { state: "new", anchor: true }),
    ],
  });
  assert.deepEqual(
    slices.map((slice) => [slice.name, slice.cached]),
    [
      ["Tool descriptions", 500],
      ["Tool results", 200],
      ["Chat", 60],
    ],
  );
});

test("the nearest rung of compaction is said, and whether it must pay", () => {
  const rung = (at: number, left: number, pays: boolean) => ({ layer: "digest", at, left, pays });
  const said = (...rungs: ReturnType<typeof rung>[]) => headroomWords(rungs, String);
  assert.equal(
    said(rung(900, 500, false), rung(500, 100, true)),
    "in 100 tokens, at 500, if it pays",
  );
  assert.equal(
    said(rung(500, -1, true), rung(900, 399, false)),
    "as soon as it saves more than it costs",
  );
  assert.equal(said(rung(500, 0, false)), "with the next request");
  assert.equal(said(), "");
});

test("the window's parts name the card's limit, and leave out slices and empty parts", () => {
  const part = (name: WindowPartRow["name"], tokens: number, limit: number | null = null) => ({
    name,
    tokens,
    share: 0,
    limit,
  });
  const parts = [part("tools", 900), part("card", 200, 1_200), part("words", 0), part("free", 7)];
  assert.equal(windowWords(parts, String), "task card 200 of at most 1200 · free 7");
});

test("the hit rate of the cache is null where nobody knows it", () => {
  assert.equal(cacheHitRate(null), null);
  assert.equal(
    cacheHitRate({ turn: {}, session: { "indwell.cache.hit_rate": null }, misses: 0 }),
    null,
  );
  assert.equal(
    cacheHitRate({ turn: {}, session: { "indwell.cache.hit_rate": 0.82 }, misses: 0 }),
    0.82,
  );
});

test("tiers are named by whose words they are", () => {
  assert.deepEqual(tierRows({ "1": 20, "3": 7, "0": 0 }), [
    { name: "you", tokens: 20 },
    { name: "tools", tokens: 7 },
  ]);
});
