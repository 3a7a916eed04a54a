import assert from "node:assert/strict";
import { test } from "node:test";
import { drawnEnd } from "../../../../src/webview/markdown/block-stream.ts";

test("a short text is drawn in full, and a long text up to the same line end while it grows", () => {
  assert.equal(drawnEnd("ab\ncd", 10), 5);
  assert.equal(drawnEnd("aaaa\nbbbb\ncccc", 12), 10);
  assert.equal(drawnEnd("aaaa\nbbbb\nccccdddd\ne", 12), 10);
});

test("a single long line is cut at the limit", () => {
  assert.equal(drawnEnd("x".repeat(100), 12), 12);
});
