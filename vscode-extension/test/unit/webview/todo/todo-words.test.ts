import assert from "node:assert/strict";
import { test } from "node:test";
import { todoWords } from "../../../../src/webview/todo/todo-words.ts";

test("the line says how much is done, and what is being done or comes next", () => {
  const done = { text: "a", state: "done" } as const;
  const open = { text: "b", state: "open" } as const;
  const doing = { text: "c", state: "doing" } as const;
  assert.deepEqual(todoWords([done, open, doing]), { count: "1 of 3", now: "c" });
  assert.deepEqual(todoWords([done, open]), { count: "1 of 2", now: "b" });
  assert.deepEqual(todoWords([done]), { count: "1 of 1", now: "" });
});
