import assert from "node:assert/strict";
import { test } from "node:test";
import {
  boundedText,
  linesMention,
  MOST_TEXT,
  mentionPath,
} from "../../../../src/extension/editor/attach/mention.ts";

test("a path is told from the first folder, and whole where it is elsewhere", () => {
  assert.equal(mentionPath("/ws/shop/a.py", "/ws"), "shop/a.py");
  assert.equal(mentionPath("/wsx/a.py", "/ws"), "/wsx/a.py");
  assert.equal(mentionPath("/ws/a.py", null), "/ws/a.py");
});

test("lines count from 1, and a selection that ends at a line's start ends before it", () => {
  assert.deepEqual(linesMention("s/a.py", 2, 5, 0), { value: "s/a.py#L3-5", label: "s/a.py:3-5" });
  assert.deepEqual(linesMention("s/a.py", 2, 2, 7), { value: "s/a.py#L3", label: "s/a.py:3-3" });
});

test("of a text that is too long the end goes along", () => {
  const text = boundedText(`${"x".repeat(MOST_TEXT)}the error`);
  assert.equal(text.length, MOST_TEXT);
  assert.ok(text.endsWith("the error") && text.startsWith("[the beginning"));
});
