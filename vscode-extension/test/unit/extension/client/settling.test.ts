import assert from "node:assert/strict";
import { test } from "node:test";
import {
  ProblemClock,
  QUIET_MS,
  settling,
  UNSERVED_MS,
} from "../../../../src/extension/client/settling.ts";

const BEGUN = 10_000;
const WAIT = 2_000;

function edited(): ProblemClock {
  const clock = new ProblemClock();
  clock.reported("file:///a.py", "python", 1_000);
  clock.edited("file:///a.py", BEGUN - 5);
  return clock;
}

test("a report after the edit counts once nothing more comes", () => {
  const clock = edited();
  clock.reported("file:///a.py", "python", BEGUN + 400);
  const one = clock.watched("file:///a.py", "python");
  assert.deepEqual(settling(one, BEGUN, BEGUN + 400, WAIT), { kind: "wait", ms: QUIET_MS });
  assert.deepEqual(settling(one, BEGUN, BEGUN + 400 + QUIET_MS, WAIT), { kind: "known" });
});

test("a report from before the edit proves nothing", () => {
  const one = edited().watched("file:///a.py", "python");
  assert.deepEqual(settling(one, BEGUN, BEGUN, WAIT), { kind: "wait", ms: WAIT });
  assert.deepEqual(settling(one, BEGUN, BEGUN + WAIT, WAIT), { kind: "unknown" });
});

test("a language that nobody serves costs half a second", () => {
  const one = new ProblemClock().watched("file:///a.md", "markdown");
  assert.deepEqual(settling(one, BEGUN, BEGUN, WAIT), { kind: "wait", ms: UNSERVED_MS });
  assert.deepEqual(settling(one, BEGUN, BEGUN + UNSERVED_MS, WAIT), { kind: "unknown" });
});

test("a server that is silent where nothing changed is waited for its usual time", () => {
  const clock = new ProblemClock();
  clock.reported("file:///b.ts", "typescript", 1_000);
  clock.edited("file:///a.ts", BEGUN);
  const one = { ...clock.watched("file:///a.ts", "typescript"), latency: 200 };
  assert.equal(settling(one, BEGUN, BEGUN + 500, WAIT).kind, "wait");
  assert.deepEqual(settling(one, BEGUN, BEGUN + 1_000, WAIT), { kind: "known" });
});

test("without a wait what is known now is the answer", () => {
  const one = edited().watched("file:///a.py", "python");
  assert.deepEqual(settling(one, BEGUN, BEGUN, 0), { kind: "known" });
  const none = new ProblemClock().watched("file:///a.md", "markdown");
  assert.deepEqual(settling(none, BEGUN, BEGUN, 0), { kind: "unknown" });
});

test("an answer never comes later than it may", () => {
  const clock = edited();
  clock.reported("file:///a.py", "python", BEGUN + WAIT - 10);
  const one = clock.watched("file:///a.py", "python");
  assert.deepEqual(settling(one, BEGUN, BEGUN + WAIT, WAIT), { kind: "known" });
});

test("the time from edit to report is learnt for each language", () => {
  const clock = new ProblemClock();
  clock.edited("file:///a.py", 100);
  clock.reported("file:///a.py", "python", 350);
  clock.reported("file:///a.py", "python", 900); // a second server, not the edit's own answer
  assert.equal(clock.watched("file:///b.py", "python").latency, 250);
});

test("a server that stays silent is waited for half as long each time, until it reports again", () => {
  const clock = edited();
  const wait = () => {
    const found = settling(clock.watched("file:///a.py", "python"), BEGUN, BEGUN, WAIT);
    return found.kind === "wait" ? found.ms : 0;
  };
  const waits = [wait()];
  for (let time = 0; time < 3; time += 1) {
    clock.waitedInVain("python");
    waits.push(wait());
  }
  assert.deepEqual(waits, [2_000, 1_000, UNSERVED_MS, UNSERVED_MS]);
  clock.reported("file:///b.py", "python", BEGUN);
  assert.equal(wait(), WAIT);
});

const FILE = "file:///a.ts";
const said = (...names: string[]): ReadonlyMap<string, string> =>
  new Map(names.map((name) => [name, `of ${name}`]));

/** Who was seen to report on the file after the edit. */
function fresh(clock: ProblemClock): readonly string[] {
  const found = clock.checkers(FILE, "typescript").filter((one) => one.at > 100);
  return found.map((one) => one.name);
}

test("a checker whose problems changed after the edit has looked, and no other", () => {
  const clock = new ProblemClock();
  clock.reported(FILE, "typescript", 50, said("ts", "eslint"));
  clock.edited(FILE, 100);
  clock.reported(FILE, "typescript", 150, said("eslint"));
  assert.deepEqual(fresh(clock), ["ts"]);
  assert.equal(clock.watched(FILE, "typescript").late, true);
  clock.reported(FILE, "typescript", 200, said());
  assert.deepEqual(fresh(clock), ["ts", "eslint"]);
  assert.equal(clock.watched(FILE, "typescript").late, false);
});

test("a report that changes nothing is of the only checker there is, and of nobody among several", () => {
  const clock = new ProblemClock();
  clock.reported("file:///b.ts", "typescript", 50, said("ts"));
  clock.edited(FILE, 100);
  clock.reported(FILE, "typescript", 150);
  assert.deepEqual(fresh(clock), ["ts"]);
  clock.reported("file:///b.ts", "typescript", 160, said("ts", "eslint"));
  clock.edited(FILE, 170);
  clock.reported(FILE, "typescript", 200);
  const after = clock.checkers(FILE, "typescript").filter((one) => one.at > 170);
  assert.deepEqual(after, []);
});

test("a checker that was not seen to report is given the usual time, and no more", () => {
  const clock = new ProblemClock();
  clock.reported(FILE, "typescript", 1_000, said("ts", "eslint"));
  clock.edited(FILE, BEGUN - 5);
  clock.reported(FILE, "typescript", BEGUN + 100, said("eslint"));
  const one = clock.watched(FILE, "typescript");
  assert.deepEqual(settling(one, BEGUN, BEGUN + 500, WAIT), { kind: "wait", ms: 500 });
  assert.deepEqual(settling(one, BEGUN, BEGUN + 1_000, WAIT), { kind: "known" });
});
