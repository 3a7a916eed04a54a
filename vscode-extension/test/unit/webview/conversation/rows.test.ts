import assert from "node:assert/strict";
import { test } from "node:test";
import { RowLayout, RowList } from "../../../../src/webview/conversation/rows.ts";
import { text, turn } from "../../../browser/scenes.ts";

const NONE: ReadonlySet<string> = new Set();

function keys(list: RowList): readonly string[] {
  return list.rows.map((row) => row.key);
}

test("a turn has rows for its prompt, its parts and its end", () => {
  const list = new RowList();
  list.update([turn(1, { parts: [text("a", "Yes.")] })], NONE);
  assert.deepEqual(keys(list), ["s1/1/prompt", "s1/1/a", "s1/1/end"]);
});

test("an update rebuilds only the rows from the changed turn on", () => {
  const list = new RowList();
  const turns = [1, 2, 3].map((number) => turn(number));
  list.update(turns, NONE);
  const [first] = list.rows;
  const from = list.update([...turns.slice(0, 2), turn(3, { parts: [text("a", "x")] })], NONE);
  assert.equal(from, 4);
  assert.equal(list.rows[0], first);
  assert.equal(list.rows.length, 7);
});

test("turns that a rewind left behind are one row, which expands to their rows", () => {
  const list = new RowList();
  const turns = [turn(1), turn(2, { left: true }), turn(3, { left: true }), turn(4)];
  list.update(turns, NONE);
  assert.deepEqual(keys(list), ["s1/1/prompt", "s1/1/end", "s1/2/left", "s1/4/prompt", "s1/4/end"]);
  list.update(turns, new Set(["s1/2/left"]));
  assert.equal(list.rows.length, 9);
});

test("a measured height moves the rows below it and none above", () => {
  const list = new RowList();
  list.update([turn(1), turn(2), turn(3)], NONE);
  const layout = new RowLayout();
  layout.setRows(list.rows, 0);
  const before = [layout.top(1), layout.top(3)];
  assert.equal(layout.measure(2, 500), true);
  assert.equal(layout.measure(2, 500), false);
  assert.deepEqual([layout.top(1), layout.top(3)], [before[0], layout.top(2) + 500]);
  assert.equal(layout.at(layout.top(2) + 499), 2);
  assert.equal(layout.at(-5), 0);
  assert.equal(layout.at(1e9), list.rows.length - 1);
});

test("rows keep their measured heights when earlier turns are inserted above", () => {
  const list = new RowList();
  const turns = [turn(5), turn(6)];
  list.update(turns, NONE);
  const layout = new RowLayout();
  layout.setRows(list.rows, 0);
  layout.measure(0, 333);
  const from = list.update([turn(4), ...turns], NONE);
  layout.setRows(list.rows, from);
  const moved = layout.indexOf("s1/5/prompt", 0);
  assert.equal(moved, 2);
  assert.equal(layout.top(moved + 1) - layout.top(moved), 333);
});
