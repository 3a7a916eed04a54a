/**
 * The short form of frames.ts: a long session stays smooth while a model streams. Other programs lengthen frames,
 * so these tests count the processor time of the page alone.
 */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { type Pages, startPages } from "./page.ts";
import { measureStream } from "./stream-frames.ts";

let pages: Pages;
before(async () => {
  pages = await startPages();
});
after(() => pages.close());

const SECONDS = 3;

test("a drawing during a stream costs about the same after 10,000 messages as after 100", async () => {
  const cost = async (messages: number): Promise<number> => {
    const panel = await pages.open();
    const frames = await measureStream(panel, {
      messages,
      chunksPerSecond: 100,
      seconds: SECONDS,
      size: 20,
    });
    const shown = JSON.stringify(frames);
    assert.ok(frames.drawings > 0 && frames.drawings <= 31, shown);
    assert.ok(frames.heapAfter - frames.heapBefore < 20_000_000, shown);
    assert.deepEqual(panel.complaints, []);
    return frames.processor / (frames.drawings * SECONDS);
  };
  const few = await cost(100);
  const many = await cost(10_000);
  assert.ok(many < 3 * few, `${many} ms of the processor for a drawing, and ${few} ms`);
});

test("ui_13 10,000 deltas a second are drawn at most 30 times a second, and leave the panel time for its user", async () => {
  const panel = await pages.open();
  const frames = await measureStream(panel, {
    messages: 100,
    chunksPerSecond: 10_000,
    seconds: SECONDS,
    size: 5,
  });
  assert.ok(frames.drawings <= 31, JSON.stringify(frames));
  assert.ok(frames.processor < (1000 * SECONDS) / 2, JSON.stringify(frames));
  assert.ok(frames.heapAfter - frames.heapBefore < 40_000_000, JSON.stringify(frames));
});
