/** A diff of several files is taken apart where it is not fooled by its own lines. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { diffFiles } from "../../../src/shared/diff-files.ts";

const ONE = "--- a/src/a.py\n+++ b/src/a.py\n@@ -1,2 +1,2 @@\n same\n-old\n+new";
const TRICK = "--- a/b.md\n+++ b/b.md\n@@ -1,2 +1,2 @@\n--- a/fake\n-x\n+++ b/fake\n+y";
const MADE = "--- /dev/null\n+++ b/c.py\n@@ -0,0 +1,2 @@\n+one\n+two";

test("each file stands alone, with its path and its lines", () => {
  const found = diffFiles([ONE, TRICK, MADE].join("\n"), "");
  assert.deepEqual(
    found.map((file) => [file.path, file.added, file.removed, file.created]),
    [
      ["src/a.py", 1, 1, false],
      ["b.md", 2, 2, false],
      ["c.py", 2, 0, true],
    ],
  );
});

test("a diff without a header is all of the file that is named", () => {
  const [file, ...others] = diffFiles("@@ -1 +1 @@\n-a\n+b", "x.py");
  assert.deepEqual([file?.path, file?.added, file?.removed, others.length], ["x.py", 1, 1, 0]);
  assert.deepEqual(diffFiles("", "x.py"), []);
});
