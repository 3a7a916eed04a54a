import assert from "node:assert/strict";
import { test } from "node:test";
import {
  countLines,
  type LineChange,
  moved,
  type PendingLines,
  settled,
} from "../../../../src/extension/editor/pending/pending-lines.ts";

function block(first: number, count: number, removed = 0): PendingLines {
  const old = "old\n".repeat(removed);
  return { id: `${first}`, kind: "change", first, count, old, removed, turn: 1, touched: false };
}
const change = (first: number, last: number, added: number, lastCharacter = 0): LineChange => ({
  first,
  last,
  lastCharacter,
  added,
});
const places = (all: readonly PendingLines[]) => all.map((one) => [one.first, one.count]);

test("lines added above a change move it down, and lines added below do not", () => {
  assert.deepEqual(places(moved([block(5, 2)], change(1, 1, 3))), [[8, 2]]);
  assert.deepEqual(places(moved([block(5, 2)], change(9, 9, 3))), [[5, 2]]);
});

test("a line break at the very start of a change moves it down", () => {
  assert.deepEqual(places(moved([block(5, 2)], change(5, 5, 1))), [[6, 2]]);
});

test("lines typed inside a change make it longer", () => {
  assert.deepEqual(places(moved([block(5, 3)], change(6, 6, 2, 4))), [[5, 5]]);
});

test("deleting lines above a change moves it up, and deleting all of its lines drops it", () => {
  assert.deepEqual(places(moved([block(5, 2)], change(1, 4, 0))), [[2, 2]]);
  assert.deepEqual(places(moved([block(5, 2), block(20, 1)], change(4, 9, 0, 1))), [[15, 1]]);
});

test("deleting the end of a change keeps its beginning, and deleting the beginning keeps the end", () => {
  assert.deepEqual(places(moved([block(5, 4)], change(7, 12, 0, 2))), [[5, 3]]);
  assert.deepEqual(places(moved([block(5, 4)], change(3, 7, 0, 2))), [[3, 2]]);
});

test("the position of removed lines moves with the text around it", () => {
  assert.deepEqual(places(moved([block(5, 0, 2)], change(0, 0, 2))), [[7, 0]]);
  assert.deepEqual(places(moved([block(5, 0, 2)], change(3, 6, 0, 1))), [[3, 0]]);
});

test("typing within a line returns the same list", () => {
  const pending = [block(5, 2), block(9, 1)];
  assert.equal(moved(pending, change(5, 5, 0, 3)), pending);
});

test("a replacement above a change moves it by the difference in lines, and one below leaves it", () => {
  for (let first = 0; first < 8; first += 1) {
    for (let last = first; last < 8; last += 1) {
      for (let added = 0; added < 3; added += 1) {
        const [now] = moved([block(3, 2)], change(first, last, added, 1));
        if (last < 3) assert.equal(now?.first, 3 + added - (last - first));
        if (first > 4) assert.equal(now?.first, 3);
        if (now !== undefined) assert.ok(now.first >= 0 && now.count > 0);
      }
    }
  }
});

test("a change at an outdated position is found at the current position of its lines", () => {
  const text = ["a", "b", "new", "lines", "c"];
  const one = settled(block(0, 2), "new\nlines\n", (line) => text[line]);
  assert.equal(one.first, 2);
  assert.equal(settled(block(1, 2), "nowhere\nto be found\n", (line) => text[line]).first, 1);
});

test("a line end at the end of a text does not start another line", () => {
  assert.deepEqual(
    ["", "a", "a\n", "a\nb", "a\r\nb\r\n", "\n"].map(countLines),
    [0, 1, 1, 2, 2, 1],
  );
});
