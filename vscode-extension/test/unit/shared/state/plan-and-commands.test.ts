/**
 * The plan, the todo list and the background commands belong to their session, live and after a
 * reload.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { BackgroundCommand, SessionResult } from "../../../../src/protocol.ts";
import { initialState, reduce } from "../../../../src/shared/state/reducer.ts";
import { commandFigure, commandsWords } from "../../../../src/shared/tool-words.ts";
import { makeEvent } from "./make-event.ts";

const DEV: BackgroundCommand = {
  id: "b1",
  command: "npm run dev",
  state: "running",
  exitCode: null,
  seconds: 12,
  tail: "ready",
  path: "",
  by: "",
};
const OPENED = reduce(initialState, { type: "opened", session: "s" });
const PAGE: SessionResult = {
  session: "s",
  title: "",
  at: "",
  model: "m",
  total: 0,
  turns: [],
  more: false,
  notices: [],
  todo: [{ text: "a", state: "open", after: [] }],
  plan: { state: "proposed", text: "1. do it", path: "" },
};

function planned(state: "proposed" | "approved" | "done", text = "1. do it") {
  const event = makeEvent({ type: "planChanged", turn: 1, state, text, path: "/state/plan.md" });
  return reduce(OPENED, { type: "event", session: "s", seq: 1, event, at: 0 });
}

test("a plan event sets the plan, its state and the path of its document", () => {
  for (const state of ["proposed", "approved", "done"] as const) {
    const plan = { state, text: "1. do it", path: "/state/plan.md" };
    assert.deepEqual(planned(state).plan, plan);
  }
});

test("a page restores the plan and the todo list, and keeps the document path of an unchanged plan", () => {
  const page = { type: "page", page: PAGE, where: "replace", seq: 1 } as const;
  const state = reduce(OPENED, page);
  assert.deepEqual([state.plan, state.todo], [PAGE.plan, PAGE.todo]);
  assert.equal(reduce(planned("proposed"), page).plan?.path, "/state/plan.md");
  assert.equal(reduce(planned("proposed", "another"), page).plan?.path, "");
});

test("opening another session clears the plan and the commands, and losing the server clears the commands", () => {
  const commands = [DEV];
  const running = reduce(planned("approved"), { type: "commands", session: "s", commands });
  assert.deepEqual(running.commands, [DEV]);
  const other = reduce(running, { type: "opened", session: "t" });
  assert.deepEqual([other.plan, other.commands], [null, []]);
  assert.deepEqual(reduce(other, { type: "commands", session: "s", commands }).commands, []);
  const connection = { kind: "restarting", reason: "" } as const;
  const gone = reduce(running, { type: "connection", connection });
  assert.deepEqual([gone.plan?.state, gone.commands], ["approved", []]);
});

test("the summary counts the running or ended commands, and each command states how it ended", () => {
  const ended = { ...DEV, state: "ended", exitCode: 0, seconds: 3 } as const;
  assert.equal(commandsWords([]), "");
  assert.equal(commandsWords([DEV, ended]), "1 command running");
  assert.equal(commandsWords([DEV, DEV]), "2 commands running");
  assert.equal(commandsWords([ended]), "1 command ended");
  const figures = [DEV, ended, { ...ended, exitCode: 2 }, { ...ended, exitCode: -9 }].map(
    commandFigure,
  );
  assert.deepEqual(figures, [
    "running",
    "ended after 3.0 s",
    "exit code 2 after 3.0 s",
    "signal 9 after 3.0 s",
  ]);
  assert.equal(commandFigure({ ...ended, state: "stopped" }), "stopped after 3.0 s");
});
