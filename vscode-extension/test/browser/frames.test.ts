/**
 * The short form of frames.ts: the panel stays fast while a model streams into a long session. Other programs
 * lengthen frames, so these tests measure only the processor time of the page.
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

test("a drawing during a stream takes less than three times as long after 10,000 messages as after 100", async () => {
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
    assert.deepEqual(panel.consoleErrors, []);
    return frames.processor / (frames.drawings * SECONDS);
  };
  const few = await cost(100);
  const many = await cost(10_000);
  assert.ok(
    many < 3 * few,
    `${many} ms of processor time per drawing after 10,000 messages, ${few} ms after 100`,
  );
});

test("ui_13 10,000 deltas a second cause at most 31 drawings a second and take less than half the processor time", async () => {
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
