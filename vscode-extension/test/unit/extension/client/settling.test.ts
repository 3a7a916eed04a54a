import assert from "node:assert/strict";
import { test } from "node:test";
import {
  ProblemClock,
  QUIET_MS,
  settling,
  UNSERVED_MS,
} from "../../../../src/extension/client/settling.ts";

const START = 10_000;
const WAIT = 2_000;

function edited(): ProblemClock {
  const clock = new ProblemClock();
  clock.reported("file:///a.py", "python", 1_000);
  clock.edited("file:///a.py", START - 5);
  return clock;
}

test("problems are known when the quiet time has passed since the report after the edit", () => {
  const clock = edited();
  clock.reported("file:///a.py", "python", START + 400);
  const one = clock.watched("file:///a.py", "python");
  assert.deepEqual(settling(one, START, START + 400, WAIT), { kind: "wait", ms: QUIET_MS });
  assert.deepEqual(settling(one, START, START + 400 + QUIET_MS, WAIT), { kind: "known" });
});

test("a report from before the edit does not make the problems known", () => {
  const one = edited().watched("file:///a.py", "python");
  assert.deepEqual(settling(one, START, START, WAIT), { kind: "wait", ms: WAIT });
  assert.deepEqual(settling(one, START, START + WAIT, WAIT), { kind: "unknown" });
});

test("a language without a server is waited for half a second", () => {
  const one = new ProblemClock().watched("file:///a.md", "markdown");
  assert.deepEqual(settling(one, START, START, WAIT), { kind: "wait", ms: UNSERVED_MS });
  assert.deepEqual(settling(one, START, START + UNSERVED_MS, WAIT), { kind: "unknown" });
});

test("a TypeScript server that sends no report after an edit gets its usual time, and then the problems count as known", () => {
  const clock = new ProblemClock();
  clock.reported("file:///b.ts", "typescript", 1_000);
  clock.edited("file:///a.ts", START);
  const one = { ...clock.watched("file:///a.ts", "typescript"), latency: 200 };
  assert.equal(settling(one, START, START + 500, WAIT).kind, "wait");
  assert.deepEqual(settling(one, START, START + 1_000, WAIT), { kind: "known" });
});

test("without a wait the problems are known if their language has a server, and unknown otherwise", () => {
  const one = edited().watched("file:///a.py", "python");
  assert.deepEqual(settling(one, START, START, 0), { kind: "known" });
  const none = new ProblemClock().watched("file:///a.md", "markdown");
  assert.deepEqual(settling(none, START, START, 0), { kind: "unknown" });
});

test("the longest wait ends the quiet time after a late report", () => {
  const clock = edited();
  clock.reported("file:///a.py", "python", START + WAIT - 10);
  const one = clock.watched("file:///a.py", "python");
  assert.deepEqual(settling(one, START, START + WAIT, WAIT), { kind: "known" });
});

test("the latency of a language is the time from an edit to its first report", () => {
  const clock = new ProblemClock();
  clock.edited("file:///a.py", 100);
  clock.reported("file:///a.py", "python", 350);
  clock.reported("file:///a.py", "python", 900); // a second server, not the edit's own answer
  assert.equal(clock.watched("file:///b.py", "python").latency, 250);
});

test("each wait without a report halves the next wait, down to half a second, until a report arrives", () => {
  const clock = edited();
  const wait = () => {
    const found = settling(clock.watched("file:///a.py", "python"), START, START, WAIT);
    return found.kind === "wait" ? found.ms : 0;
  };
  const waits = [wait()];
  for (let time = 0; time < 3; time += 1) {
    clock.waitedInVain("python");
    waits.push(wait());
  }
  assert.deepEqual(waits, [2_000, 1_000, UNSERVED_MS, UNSERVED_MS]);
  clock.reported("file:///b.py", "python", START);
  assert.equal(wait(), WAIT);
});

const FILE = "file:///a.ts";
const problemsOf = (...names: string[]): ReadonlyMap<string, string> =>
  new Map(names.map((name) => [name, `of ${name}`]));

/** The checkers that reported on the file after the edit. */
function fresh(clock: ProblemClock): readonly string[] {
  const found = clock.checkers(FILE, "typescript").filter((one) => one.at > 100);
  return found.map((one) => one.name);
}

test("only a checker whose problems changed counts as having reported", () => {
  const clock = new ProblemClock();
  clock.reported(FILE, "typescript", 50, problemsOf("ts", "eslint"));
  clock.edited(FILE, 100);
  clock.reported(FILE, "typescript", 150, problemsOf("eslint"));
  assert.deepEqual(fresh(clock), ["ts"]);
  assert.equal(clock.watched(FILE, "typescript").late, true);
  clock.reported(FILE, "typescript", 200, problemsOf());
  assert.deepEqual(fresh(clock), ["ts", "eslint"]);
  assert.equal(clock.watched(FILE, "typescript").late, false);
});

test("a report without changes counts for the only checker, but for none of several", () => {
  const clock = new ProblemClock();
  clock.reported("file:///b.ts", "typescript", 50, problemsOf("ts"));
  clock.edited(FILE, 100);
  clock.reported(FILE, "typescript", 150);
  assert.deepEqual(fresh(clock), ["ts"]);
  clock.reported("file:///b.ts", "typescript", 160, problemsOf("ts", "eslint"));
  clock.edited(FILE, 170);
  clock.reported(FILE, "typescript", 200);
  const after = clock.checkers(FILE, "typescript").filter((one) => one.at > 170);
  assert.deepEqual(after, []);
});

test("after one checker's report the other checkers get the usual time and no more", () => {
  const clock = new ProblemClock();
  clock.reported(FILE, "typescript", 1_000, problemsOf("ts", "eslint"));
  clock.edited(FILE, START - 5);
  clock.reported(FILE, "typescript", START + 100, problemsOf("eslint"));
  const one = clock.watched(FILE, "typescript");
  assert.deepEqual(settling(one, START, START + 500, WAIT), { kind: "wait", ms: 500 });
  assert.deepEqual(settling(one, START, START + 1_000, WAIT), { kind: "known" });
});
