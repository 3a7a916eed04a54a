import assert from "node:assert/strict";
import { test } from "node:test";
import { relay } from "../../../../src/extension/models/relay.ts";
import type { Piece } from "../../../../src/extension/models/translate.ts";

const text = (words: string): Piece => ({ kind: "text", text: words });
const call: Piece = { kind: "call", id: "c1", name: "grep", arguments: "{}" };

/** A clock that the test advances. */
function manualClock() {
  const waiting: (() => void)[] = [];
  return {
    after: (_ms: number, run: () => void) => {
      waiting.push(run);
      return () => {
        const at = waiting.indexOf(run);
        if (at >= 0) waiting.splice(at, 1);
      };
    },
    tick: () => {
      for (const run of waiting.splice(0)) run();
    },
    waiting,
  };
}

const known = (part: unknown): Piece | null => (part === null ? null : (part as Piece));

test("pieces are sent in order and in batches with joined texts, and all of them before the end", async () => {
  const clock = manualClock();
  const sent: (readonly Piece[])[] = [];
  async function* stream() {
    yield text("We");
    yield text("ll");
    yield null;
    yield call;
    yield text(", ");
    clock.tick();
    yield text("done.");
  }
  await relay(stream(), known, async (pieces) => void sent.push(pieces), clock);
  assert.deepEqual(sent, [[text("Well"), call, text(", ")], [text("done.")]]);
  assert.equal(clock.waiting.length, 0);
});

test("a stream is read no faster than its large batches are sent", async () => {
  let read = 0;
  let take = (): void => {};
  async function* stream() {
    for (; read < 3; read += 1) yield text("x".repeat(40_000));
  }
  const relayed = relay(
    stream(),
    known,
    () =>
      new Promise((resolve) => {
        take = resolve;
      }),
    manualClock(),
  );
  const settle = () => new Promise((resolve) => setImmediate(resolve));
  for (const step of [0, 1, 2]) {
    await settle();
    assert.equal(read, step);
    take();
  }
  await relayed;
});

test("the pieces before a failure are sent, and the stream's error is passed on", async () => {
  const sent: (readonly Piece[])[] = [];
  async function* stream() {
    yield text("Half of");
    throw new Error("quota");
  }
  const send = async (pieces: readonly Piece[]) => void sent.push(pieces);
  await assert.rejects(relay(stream(), known, send, manualClock()), /quota/);
  assert.deepEqual(sent, [[text("Half of")]]);
});

test("a failed send ends the reading of the stream", async () => {
  let read = 0;
  async function* stream() {
    for (; read < 100; read += 1) yield text("x".repeat(40_000));
  }
  const gone = () => Promise.reject(new Error("the line is closed"));
  await assert.rejects(relay(stream(), known, gone, manualClock()), /closed/);
  assert.equal(read, 0);
});
