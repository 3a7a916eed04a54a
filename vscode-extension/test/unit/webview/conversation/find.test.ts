import assert from "node:assert/strict";
import { test } from "node:test";
import { countWords, matchingRows, stepped } from "../../../../src/webview/conversation/find.tsx";
import { RowList } from "../../../../src/webview/conversation/rows.ts";
import { text, turn } from "../../../browser/scenes.ts";

test("rows are found by the text of prompts, answers and ends, ignoring case", () => {
  const list = new RowList();
  list.update(
    [
      turn(1, { words: "Sort the Pears", parts: [text("a", "Apples are sorted.")] }),
      turn(2, { words: "And now?", ending: "failed", message: "no PEARS left" }),
      turn(3, { words: "pears", left: true }),
    ],
    new Set(),
  );
  assert.deepEqual(matchingRows(list.rows, "pears"), ["s1/1/prompt", "s1/2/end"]);
  assert.deepEqual(matchingRows(list.rows, "sorted"), ["s1/1/a"]);
  assert.deepEqual(matchingRows(list.rows, ""), []);
});

test("the search position wraps around, and the count says if only the shown turns were searched", () => {
  assert.deepEqual(
    [stepped(-1, 3, -1), stepped(0, 3, -1), stepped(2, 3, 1), stepped(0, 0, 1)],
    [2, 2, 0, -1],
  );
  assert.equal(countWords(1, 5, false), "2 of 5");
  assert.equal(countWords(-1, 0, true), "No results in the turns shown");
});
