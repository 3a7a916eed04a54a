import assert from "node:assert/strict";
import { test } from "node:test";
import { nextStop } from "../../../../src/webview/composer/popup.tsx";

const LABELS = ["plan", "ask", "auto", "review an edit"];

function press(
  key: string,
  at: number,
  more: { menu?: boolean; shift?: boolean; typed?: string } = {},
) {
  const { menu = true, shift = false, typed = key } = more;
  return nextStop({ key, shift, modified: false }, { menu, labels: LABELS, at, typed });
}

test("Tab and the arrow keys wrap around, and Home and End move to the first and last row", () => {
  assert.equal(press("Tab", 3), 0);
  assert.equal(press("Tab", 0, { shift: true }), 3);
  assert.equal(press("ArrowDown", -1), 0);
  assert.equal(press("ArrowUp", -1), 3);
  assert.equal(press("ArrowUp", 2), 1);
  assert.deepEqual([press("Home", 2), press("End", 0)], [0, 3]);
});

test("in a dialog only Tab moves the focus", () => {
  for (const key of ["ArrowDown", "Home", "a"]) assert.equal(press(key, 0, { menu: false }), null);
  assert.equal(press("Tab", 0, { menu: false }), 1);
});

test("one letter cycles through the rows that begin with it, and more letters find the row that contains them", () => {
  assert.equal(press("a", 0), 1);
  assert.equal(press("a", 1), 2);
  assert.equal(press("a", 2, { typed: "aa" }), 1);
  assert.equal(press("u", 1, { typed: "au" }), 2);
  assert.equal(press("i", 0, { typed: "edi" }), 3);
  assert.equal(press("x", 0), null);
  assert.equal(press(" ", 0), null);
});
