import assert from "node:assert/strict";
import { test } from "node:test";
import {
  EXIT_MS,
  type Process,
  STOP_MS,
  type Stoppable,
  stopServer,
} from "../../../../src/extension/server/stopping.ts";
import { FakeClock, settle } from "../chat/fake-room.ts";

class FakeProcess implements Process {
  exitCode: number | null = null;
  readonly signalCode = null;
  readonly kills: string[] = [];
  #heard = (): void => {};

  once(_event: "exit", heard: () => void): void {
    this.#heard = heard;
  }

  kill(signal: string): void {
    this.kills.push(signal);
  }

  exit(): void {
    this.exitCode = 0;
    this.#heard();
  }
}

function stopping({ isRunning = true, refuses = false, hasExited = false } = {}) {
  const clock = new FakeClock();
  const child = new FakeProcess();
  if (hasExited) child.exitCode = 0;
  const asked: number[] = [];
  const client: Stoppable = {
    serverProcess: child,
    isRunning: () => isRunning,
    stop: async (ms) => {
      asked.push(ms);
      if (refuses) throw new Error("the connection is closed");
    },
  };
  let isDone = false;
  void stopServer(client, clock).then(() => {
    isDone = true;
  });
  return { clock, child, asked, isDone: () => isDone };
}

for (const refuses of [false, true]) {
  const title = refuses ? "that does not answer to shutdown" : "that has answered to shutdown";
  test(`a server ${title} has all of its time to end, and is killed after it`, async () => {
    const { clock, child, asked, isDone } = stopping({ refuses });
    await settle();
    clock.advance(EXIT_MS - 1);
    await settle();
    assert.deepEqual([asked, child.kills, isDone()], [[STOP_MS], [], false]);
    clock.advance(1);
    await settle();
    assert.deepEqual([child.kills, isDone()], [["SIGKILL"], true]);
  });
}

test("stopping ends with the process, and kills nothing later", async () => {
  const { clock, child, isDone } = stopping();
  await settle();
  clock.advance(EXIT_MS - 1);
  child.exit();
  await settle();
  assert.equal(isDone(), true);
  clock.advance(EXIT_MS);
  await settle();
  assert.deepEqual(child.kills, []);
});

test("a process that has ended already is not waited for", async () => {
  const { child, isDone } = stopping({ hasExited: true });
  await settle();
  assert.deepEqual([child.kills, isDone()], [[], true]);
});

test("a server that is still starting is not asked, and is killed at once", async () => {
  const { clock, child, asked, isDone } = stopping({ isRunning: false });
  clock.advance(0);
  await settle();
  assert.deepEqual([asked, child.kills, isDone()], [[], ["SIGKILL"], true]);
});

test("shutdown and exit together stay below the 5 seconds that VS Code gives", () => {
  assert.ok(STOP_MS + EXIT_MS < 5000);
});
