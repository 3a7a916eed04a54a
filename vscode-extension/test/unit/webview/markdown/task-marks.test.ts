import assert from "node:assert/strict";
import { test } from "node:test";
import { parseBlocks } from "../../../../src/webview/markdown/parser.ts";

const drawn = (text: string): string =>
  parseBlocks(text)
    .map((block) => (block.kind === "prose" ? block.html : block.text))
    .join("")
    .replace(/\s*<[^>]*>\s*/g, "|")
    .replace(/\|+/g, "|");

test("open and done tasks of a list get checkboxes", () => {
  assert.equal(
    drawn("- [ ] Write it\n- [x] Read **all**\n  1. [X] deep"),
    "|☐ Write it|☑ Read|all|☑ deep|",
  );
});

test("brackets that mark no task get no checkbox", () => {
  for (const text of [
    "[ ] no list",
    "- [] empty",
    "- [x]joined",
    "- a [x] b",
    "- [y] other",
    "- `[x] ` code",
    "- [x](https://x.test/)",
    "- one\n\n  [x] second paragraph",
  ])
    assert.doesNotMatch(drawn(text), /[☐☑]/, text);
});
