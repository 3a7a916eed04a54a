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

test("ui_13 10,000 deltas a second cause at most 31 drawings a second and take less than three times the processor time of the same text in 100 deltas", async () => {
  const cost = async (chunksPerSecond: number, size: number): Promise<number> => {
    const panel = await pages.open();
    const frames = await measureStream(panel, {
      messages: 100,
      chunksPerSecond,
      seconds: SECONDS,
      size,
    });
    assert.ok(frames.drawings <= 31, JSON.stringify(frames));
    assert.ok(frames.heapAfter - frames.heapBefore < 40_000_000, JSON.stringify(frames));
    return frames.processor;
  };
  const few = await cost(100, 500);
  const many = await cost(10_000, 5);
  assert.ok(
    many < 3 * few,
    `${many} ms of processor time for small deltas, ${few} ms for large ones`,
  );
});
