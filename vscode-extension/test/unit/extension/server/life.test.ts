import assert from "node:assert/strict";
import { test } from "node:test";
import {
  afterCrash,
  CannotStart,
  type Clock,
  type Launch,
  Life,
  MOST,
  type Reports,
  WITHIN_MS,
} from "../../../../src/extension/server/life.ts";
import type { ServerState } from "../../../../src/extension/server/state.ts";

/** A clock that stands until it is told to go on. */
class Standing implements Clock {
  #now = 1_000_000;
  #due: { at: number; call: () => void }[] = [];
  now(): number {
    return this.#now;
  }
  after(ms: number, call: () => void): () => void {
    const entry = { at: this.#now + ms, call };
    this.#due.push(entry);
    return () => {
      this.#due = this.#due.filter((one) => one !== entry);
    };
  }
  async advance(ms: number): Promise<void> {
    this.#now += ms;
    const due = this.#due.filter(({ at }) => at <= this.#now);
    this.#due = this.#due.filter(({ at }) => at > this.#now);
    for (const { call } of due) call();
    await settled();
  }
}

/** Server processes that exist on paper. */
class Paper {
  readonly reports: Reports[] = [];
  readonly log: string[] = [];
  fail: Error | undefined;
  readonly launch: Launch<number> = async (reports, signal) => {
    const number = this.reports.push(reports);
    this.log.push(`start ${number}`);
    await settled();
    if (this.fail !== undefined) throw this.fail;
    if (signal.aborted) throw new Error("aborted");
    const stop = async (): Promise<void> => {
      await settled();
      this.log.push(`stop ${number}`);
    };
    return { client: number, version: "1", stop };
  };
}

const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

function born(): { life: Life<number>; paper: Paper; clock: Standing; seen: ServerState[] } {
  const [paper, clock, seen] = [new Paper(), new Standing(), [] as ServerState[]];
  return { life: new Life(paper.launch, (state) => seen.push(state), clock), paper, clock, seen };
}

test("all who ask for the server get the one that starts", async () => {
  const { life, paper, seen } = born();
  assert.deepEqual(await Promise.all([life.start(), life.start(), life.start()]), [1, 1, 1]);
  assert.deepEqual(paper.log, ["start 1"]);
  assert.deepEqual(
    seen.map(({ kind }) => kind),
    ["starting", "running"],
  );
});

test("restarts asked for at once come one after the other, and one server is left", async () => {
  const { life, paper } = born();
  await life.start();
  await Promise.all([life.restart(), life.restart()].map((one) => one.catch(() => {})));
  const [starts, stops] = ["start", "stop"].map((word) =>
    paper.log.filter((line) => line.startsWith(word)),
  );
  assert.equal((starts?.length ?? 0) - (stops?.length ?? 0), 1);
  assert.equal(life.state.kind, "running");
});

test("a server that ends by itself is started again, after a wait that grows", async () => {
  const { life, paper, clock } = born();
  await life.start();
  for (const waitMs of [500, 1000, 2000]) {
    paper.reports.at(-1)?.ended("killed");
    const state: ServerState = life.state;
    assert.equal(state.kind === "waiting" ? state.at - clock.now() : -1, waitMs);
    await clock.advance(waitMs);
    await settled();
    assert.equal(life.state.kind, "running");
  }
});

test("one end is one end, however often it is reported", async () => {
  const { life, paper } = born();
  await life.start();
  paper.reports[0]?.ended("killed");
  paper.reports[0]?.ended("killed");
  assert.deepEqual(life.state.kind === "waiting" && life.state.attempt, 1);
});

test("the fifth end within three minutes leaves it down, and a restart by hand counts anew", async () => {
  const { life, paper, clock } = born();
  await life.start();
  for (let ends = 1; ends < MOST; ends++) {
    paper.reports.at(-1)?.ended("killed");
    await clock.advance(10_000);
    await settled();
  }
  paper.reports.at(-1)?.ended("killed");
  const state: ServerState = life.state;
  assert.ok(state.kind === "stopped" && state.crashed && /5 times/.test(state.reason));
  await clock.advance(WITHIN_MS);
  assert.equal(paper.reports.length, MOST);
  await life.restart();
  paper.reports.at(-1)?.ended("killed");
  assert.equal(life.state.kind, "waiting");
});

test("ends that lie three minutes apart never add up", () => {
  let crashes: readonly number[] = [];
  for (let now = 0; now < 20 * WITHIN_MS; now += WITHIN_MS) {
    const next = afterCrash(crashes, now);
    assert.equal(next.kind, "again");
    crashes = next.crashes;
  }
});

test("a first start that fails is not tried again by itself, and says why", async () => {
  const { life, paper, clock } = born();
  paper.fail = new CannotStart("Python 3.11 or newer was not found.");
  await assert.rejects(life.start(), /not found/);
  assert.deepEqual(life.state, { kind: "stopped", reason: paper.fail.message, crashed: true });
  await clock.advance(WITHIN_MS);
  assert.deepEqual(paper.log, ["start 1"]);
  paper.fail = undefined;
  assert.equal(await life.start(), 2);
});

test("a server that comes up after a crash and fails counts as one more crash", async () => {
  const { life, paper, clock } = born();
  await life.start();
  paper.reports[0]?.ended("killed");
  paper.fail = new Error("no memory");
  await clock.advance(500);
  await settled();
  assert.deepEqual(life.state.kind === "waiting" && life.state.attempt, 2);
});

test("a stop while it starts leaves nothing running and no message of a crash", async () => {
  const { life, paper, seen } = born();
  const starting = life.start().catch((error: unknown) => error);
  await life.stop();
  assert.ok((await starting) instanceof Error);
  assert.equal(life.client, undefined);
  assert.ok(seen.every((state) => state.kind !== "stopped" || !state.crashed));
  assert.ok(!paper.log.includes("start 2"));
});

test("a stop while it waits to start again ends the waiting", async () => {
  const { life, paper, clock } = born();
  await life.start();
  paper.reports[0]?.ended("killed");
  await life.stop();
  await clock.advance(WITHIN_MS);
  assert.deepEqual(paper.reports.length, 1);
  assert.deepEqual(life.state.kind === "stopped" && life.state.crashed, false);
});

test("whoever asks while it stops gets the next one, not the one that ends", async () => {
  const { life } = born();
  await life.start();
  const stopped = life.stop();
  assert.equal(await life.start(), 2);
  await stopped;
});

test("a stop is known at once, while the process still ends", async () => {
  const { life, paper } = born();
  await life.start();
  const stopped = life.stop();
  assert.deepEqual(life.state, {
    kind: "stopped",
    reason: "The server was stopped.",
    crashed: false,
  });
  await stopped;
  assert.deepEqual(paper.log, ["start 1", "stop 1"]);
});

test("a restart is never shown as a stop", async () => {
  const { life, seen } = born();
  await life.start();
  await life.restart();
  assert.ok(seen.every(({ kind }) => kind !== "stopped"));
  assert.equal(life.state.kind, "running");
});

test("nothing starts once the window closes", async () => {
  const { life, paper } = born();
  await life.start();
  await life.dispose();
  await assert.rejects(life.start());
  assert.deepEqual(paper.log, ["start 1", "stop 1"]);
});
