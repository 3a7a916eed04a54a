import assert from "node:assert/strict";
import { test } from "node:test";
import { isTask } from "../../../../src/webview/conversation/prompt-row.tsx";

test("a title belongs to a code action only if it is not made from the prompt", () => {
  const long = "word ".repeat(40);
  assert.equal(isTask("Fix it.", "Fix it."), false);
  assert.equal(isTask(long, long.slice(0, 60)), false);
  assert.equal(isTask("two\n lines", "two lines"), false);
  assert.equal(isTask("/compact", "shorten the conversation"), false);
  assert.equal(isTask("words", ""), false);
  assert.equal(isTask("Fix the problems in a.py:1-2.", "Fix this: a.py:1-2"), true);
});
