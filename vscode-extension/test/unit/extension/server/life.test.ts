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

/** A clock that only the test advances. */
class ManualClock implements Clock {
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

/** Fake server processes, with a log of starts and stops. */
class FakeProcesses {
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

function makeLife(): {
  life: Life<number>;
  processes: FakeProcesses;
  clock: ManualClock;
  seen: ServerState[];
} {
  const [processes, clock, seen] = [new FakeProcesses(), new ManualClock(), [] as ServerState[]];
  return {
    life: new Life(processes.launch, (state) => seen.push(state), clock),
    processes,
    clock,
    seen,
  };
}

test("concurrent starts share one server", async () => {
  const { life, processes, seen } = makeLife();
  assert.deepEqual(await Promise.all([life.start(), life.start(), life.start()]), [1, 1, 1]);
  assert.deepEqual(processes.log, ["start 1"]);
  assert.deepEqual(
    seen.map(({ kind }) => kind),
    ["starting", "running"],
  );
});

test("concurrent restarts leave one server running", async () => {
  const { life, processes } = makeLife();
  await life.start();
  await Promise.all([life.restart(), life.restart()].map((one) => one.catch(() => {})));
  const [starts, stops] = ["start", "stop"].map((word) =>
    processes.log.filter((line) => line.startsWith(word)),
  );
  assert.equal((starts?.length ?? 0) - (stops?.length ?? 0), 1);
  assert.equal(life.state.kind, "running");
});

test("a server that ends by itself is restarted after a wait that grows", async () => {
  const { life, processes, clock } = makeLife();
  await life.start();
  for (const waitMs of [500, 1000, 2000]) {
    processes.reports.at(-1)?.ended("killed");
    const state: ServerState = life.state;
    assert.equal(state.kind === "waiting" ? state.at - clock.now() : -1, waitMs);
    await clock.advance(waitMs);
    await settled();
    assert.equal(life.state.kind, "running");
  }
});

test("repeated reports of one end count as one crash", async () => {
  const { life, processes } = makeLife();
  await life.start();
  processes.reports[0]?.ended("killed");
  processes.reports[0]?.ended("killed");
  assert.deepEqual(life.state.kind === "waiting" && life.state.attempt, 1);
});

test("the fifth crash within three minutes stops the server, and a manual restart resets the count", async () => {
  const { life, processes, clock } = makeLife();
  await life.start();
  for (let ends = 1; ends < MOST; ends++) {
    processes.reports.at(-1)?.ended("killed");
    await clock.advance(10_000);
    await settled();
  }
  processes.reports.at(-1)?.ended("killed");
  const state: ServerState = life.state;
  assert.ok(state.kind === "stopped" && state.crashed && /5 times/.test(state.reason));
  await clock.advance(WITHIN_MS);
  assert.equal(processes.reports.length, MOST);
  await life.restart();
  processes.reports.at(-1)?.ended("killed");
  assert.equal(life.state.kind, "waiting");
});

test("crashes that are three minutes apart never stop the restarts", () => {
  let crashes: readonly number[] = [];
  for (let now = 0; now < 20 * WITHIN_MS; now += WITHIN_MS) {
    const next = afterCrash(crashes, now);
    assert.equal(next.kind, "again");
    crashes = next.crashes;
  }
});

test("a failed first start gives the reason and is not repeated automatically", async () => {
  const { life, processes, clock } = makeLife();
  processes.fail = new CannotStart("Python 3.11 or newer was not found.");
  await assert.rejects(life.start(), /not found/);
  assert.deepEqual(life.state, { kind: "stopped", reason: processes.fail.message, crashed: true });
  await clock.advance(WITHIN_MS);
  assert.deepEqual(processes.log, ["start 1"]);
  processes.fail = undefined;
  assert.equal(await life.start(), 2);
});

test("a failed restart after a crash counts as another crash", async () => {
  const { life, processes, clock } = makeLife();
  await life.start();
  processes.reports[0]?.ended("killed");
  processes.fail = new Error("no memory");
  await clock.advance(500);
  await settled();
  assert.deepEqual(life.state.kind === "waiting" && life.state.attempt, 2);
});

test("a stop during the start leaves no server running and reports no crash", async () => {
  const { life, processes, seen } = makeLife();
  const starting = life.start().catch((error: unknown) => error);
  await life.stop();
  assert.ok((await starting) instanceof Error);
  assert.equal(life.client, undefined);
  assert.ok(seen.every((state) => state.kind !== "stopped" || !state.crashed));
  assert.ok(!processes.log.includes("start 2"));
});

test("a stop during the wait for a restart cancels the restart", async () => {
  const { life, processes, clock } = makeLife();
  await life.start();
  processes.reports[0]?.ended("killed");
  await life.stop();
  await clock.advance(WITHIN_MS);
  assert.deepEqual(processes.reports.length, 1);
  assert.deepEqual(life.state.kind === "stopped" && life.state.crashed, false);
});

test("a start during a stop gets a new server", async () => {
  const { life } = makeLife();
  await life.start();
  const stopped = life.stop();
  assert.equal(await life.start(), 2);
  await stopped;
});

test("the state is stopped at once while the process still ends", async () => {
  const { life, processes } = makeLife();
  await life.start();
  const stopped = life.stop();
  assert.deepEqual(life.state, {
    kind: "stopped",
    reason: "The server was stopped.",
    crashed: false,
  });
  await stopped;
  assert.deepEqual(processes.log, ["start 1", "stop 1"]);
});

test("a restart never shows the state stopped", async () => {
  const { life, seen } = makeLife();
  await life.start();
  await life.restart();
  assert.ok(seen.every(({ kind }) => kind !== "stopped"));
  assert.equal(life.state.kind, "running");
});

test("no server starts after the window has closed", async () => {
  const { life, processes } = makeLife();
  await life.start();
  await life.dispose();
  await assert.rejects(life.start());
  assert.deepEqual(processes.log, ["start 1", "stop 1"]);
});
