import assert from "node:assert/strict";
import { test } from "node:test";
import { diffWords } from "../../../../src/webview/questions/about.tsx";

test("UI-11: changes of line ends, blanks and invisible characters are described in words", () => {
  assert.deepEqual(diffWords("@@ -1 +1 @@\n-a\n-b\n+a\r\n+b\r"), [
    "In 2 lines only the line's end changes",
  ]);
  assert.deepEqual(diffWords("@@ -1 +1 @@\n-a  b\n+a b "), ["In 1 line only blanks change"]);
  assert.deepEqual(diffWords("@@ -1 +1 @@\n-ab\n+a\u200bb"), [
    "In 1 line only invisible characters change",
  ]);
  assert.deepEqual(diffWords("@@ -1 +1 @@\n-ab\n+a\\u202eb"), [
    "In 1 line only invisible characters change",
  ]);
});

test("UI-11: file modes, binary files and the end of the last line are described in words", () => {
  assert.deepEqual(diffWords("old mode 100644\nnew mode 100755\nBinary files a/x and b/x differ"), [
    "The mode was 100644",
    "The mode becomes 100755",
    "This is not text: its contents cannot be shown",
  ]);
  assert.deepEqual(diffWords("@@ -1 +1 @@\n-a\n+b\n\\ No newline at end of file"), [
    "The end of the file's last line changes",
  ]);
});

test("a diff without hidden changes gets no description", () => {
  assert.deepEqual(diffWords("--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n a\n-b\n+c"), []);
});

test("UI-11: only the first 50,000 lines of a diff are described", () => {
  const said = (pairs: number) => diffWords("-a b\n+a  b\n".repeat(pairs));
  assert.deepEqual(said(20_000), ["In 20,000 lines only blanks change"]);
  assert.deepEqual(said(500_000), ["In 25,000 lines only blanks change"]);
});
