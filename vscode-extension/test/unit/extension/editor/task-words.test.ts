import assert from "node:assert/strict";
import { test } from "node:test";
import { taskFigure } from "../../../../src/extension/editor/commands/task-words.ts";
import type { TaskRow } from "../../../../src/protocol.ts";

function task(over: Partial<TaskRow>): TaskRow {
  const empty = { after: [], waitsFor: [], session: "", ending: "" };
  return { id: "t3", title: "Move it", state: "open", ...empty, ...over };
}

test("the figure of a task shows its state and the tasks it waits for", () => {
  assert.equal(taskFigure(task({})), "t3 · open");
  assert.equal(taskFigure(task({ waitsFor: ["t1", "t2"] })), "t3 · after t1, t2");
  assert.equal(taskFigure(task({ state: "waiting", waitsFor: ["t1"] })), "t3 · waits for t1");
  assert.equal(taskFigure(task({ state: "waiting" })), "t3 · starts soon");
  assert.equal(taskFigure(task({ state: "failed", waitsFor: ["t1"] })), "t3 · failed");
});
