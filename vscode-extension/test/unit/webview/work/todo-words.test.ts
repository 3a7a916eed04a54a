import assert from "node:assert/strict";
import { test } from "node:test";
import { todoWords, waitsFor } from "../../../../src/webview/work/todo-line.tsx";

test("the todo line shows how many items are done and the current or next item", () => {
  const done = { text: "a", state: "done", after: [] } as const;
  const open = { text: "b", state: "open", after: [] } as const;
  const doing = { text: "c", state: "doing", after: [] } as const;
  assert.deepEqual(todoWords([done, open, doing]), { count: "1 of 3", now: "c" });
  assert.deepEqual(todoWords([done, open]), { count: "1 of 2", now: "b" });
  assert.deepEqual(todoWords([done]), { count: "1 of 1", now: "" });
});

test("a blocked item names the open items it waits for and is not the next item", () => {
  const rows = [
    { text: "late", state: "open", after: [2, 3] },
    { text: "first", state: "done", after: [] },
    { text: "now", state: "open", after: [2] },
  ] as const;
  assert.deepEqual(
    rows.map((row) => waitsFor(row, rows)),
    ["waits for 3", "", ""],
  );
  assert.equal(todoWords(rows).now, "now");
  assert.equal(todoWords(rows.slice(0, 1)).now, "late");
});
