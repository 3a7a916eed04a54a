import assert from "node:assert/strict";
import { test } from "node:test";
import {
  boundedText,
  linesMention,
  MOST_TEXT,
  mentionPath,
} from "../../../../src/extension/editor/attach/mention.ts";

test("a mentioned path is relative to the first folder, and absolute outside it", () => {
  assert.equal(mentionPath("/ws/shop/a.py", "/ws"), "shop/a.py");
  assert.equal(mentionPath("/wsx/a.py", "/ws"), "/wsx/a.py");
  assert.equal(mentionPath("/ws/a.py", null), "/ws/a.py");
});

test("mentioned lines count from 1, and a selection that ends at a line's start excludes that line", () => {
  assert.deepEqual(linesMention("s/a.py", 2, 5, 0), { value: "s/a.py#L3-5", label: "s/a.py:3-5" });
  assert.deepEqual(linesMention("s/a.py", 2, 2, 7), { value: "s/a.py#L3", label: "s/a.py:3-3" });
});

test("a text that is too long keeps its end", () => {
  const text = boundedText(`${"x".repeat(MOST_TEXT)}the error`);
  assert.equal(text.length, MOST_TEXT);
  assert.ok(text.endsWith("the error") && text.startsWith("[the beginning"));
});
