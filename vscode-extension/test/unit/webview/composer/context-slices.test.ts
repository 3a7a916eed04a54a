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

test("the sources are summed into named slices in request order, with their shares", () => {
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

test("an unknown source is counted as Other", () => {
  const slices = contextSlices({ sources: { novelty: 7 }, blocks: [] });
  assert.deepEqual(slices, [{ name: "Other", tokens: 7, cached: 0, share: 1 }]);
});

test("sent blocks up to the last sent cache anchor count as cached", () => {
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

test("the headroom words name the nearest compaction step and its condition", () => {
  const step = (at: number, left: number, pays: boolean) => ({ layer: "digest", at, left, pays });
  const words = (...steps: ReturnType<typeof step>[]) => headroomWords(steps, String);
  assert.equal(
    words(step(900, 500, false), step(500, 100, true)),
    "in 100 tokens, at 500, if it pays",
  );
  assert.equal(
    words(step(500, -1, true), step(900, 399, false)),
    "as soon as it saves more than it costs",
  );
  assert.equal(words(step(500, 0, false)), "with the next request");
  assert.equal(words(), "");
});

test("the window's summary states the task card's limit, and omits empty parts and parts that are slices", () => {
  const part = (name: WindowPartRow["name"], tokens: number, limit: number | null = null) => ({
    name,
    tokens,
    share: 0,
    limit,
  });
  const parts = [part("tools", 900), part("card", 200, 1_200), part("words", 0), part("free", 7)];
  assert.equal(windowWords(parts, String), "task card 200 of at most 1200 · free 7");
});

test("an unknown cache hit rate is null", () => {
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

test("tiers are named after their authors, and empty tiers are omitted", () => {
  assert.deepEqual(tierRows({ "1": 20, "3": 7, "0": 0 }), [
    { name: "you", tokens: 20 },
    { name: "tools", tokens: 7 },
  ]);
});
