import assert from "node:assert/strict";
import { test } from "node:test";
import { MOST, marks } from "../../../../src/extension/editor/pending/marks.ts";
import {
  neighbour,
  type Stop,
  touching,
} from "../../../../src/extension/editor/pending/neighbours.ts";
import type { PendingLines } from "../../../../src/extension/editor/pending/pending-lines.ts";

function lines(first: number, count: number, old = ""): PendingLines {
  const removed = old === "" ? 0 : old.trimEnd().split("\n").length;
  return { id: `${first}`, kind: "change", first, count, old, removed, turn: 1, touched: false };
}

test("added lines get a bar and a background, removed ones a word at the line", () => {
  const replaced = lines(2, 3, "a\n");
  const gone = lines(9, 0, "b\nc\n");
  const run = { first: 2, last: 4, change: replaced };
  assert.deepEqual(marks([replaced, gone], 20), {
    bars: [run],
    added: [run],
    ghosts: [
      { line: 2, words: "− 1 line", change: replaced, bare: false },
      { line: 9, words: "− 2 lines", change: gone, bare: true },
    ],
  });
});

test("a new file has a bar and no background", () => {
  const created: PendingLines = { ...lines(0, 5), kind: "create" };
  assert.deepEqual(marks([created], 5), {
    bars: [{ first: 0, last: 4, change: created }],
    added: [],
    ghosts: [],
  });
});

test("nothing is drawn behind the end of a text that became shorter", () => {
  const found = marks([lines(90, 5, "x\n")], 10);
  assert.deepEqual([found.bars[0]?.first, found.bars[0]?.last], [9, 9]);
  assert.equal(found.ghosts[0]?.line, 9);
});

test("of very many changes the first are drawn", () => {
  const many = Array.from({ length: MOST + 50 }, (_, index) => lines(index * 2, 1));
  assert.equal(marks(many, 100_000).bars.length, MOST);
});

const STOPS: readonly Stop[] = [
  { id: "a1", uri: "a", line: 9, count: 2 },
  { id: "a0", uri: "a", line: 3, count: 0 },
  { id: "b0", uri: "b", line: 1, count: 1 },
];

test("next and previous go through all files, and round", () => {
  const next = (uri: string | null, line: number) => neighbour(STOPS, uri, line, "next")?.id;
  const previous = (uri: string | null, line: number) =>
    neighbour(STOPS, uri, line, "previous")?.id;
  assert.deepEqual(
    [next("a", 0), next("a", 3), next("a", 9), next("b", 1)],
    ["a0", "a1", "b0", "a0"],
  );
  assert.deepEqual([previous("a", 20), previous("a", 9), previous("a", 3)], ["a1", "a0", "b0"]);
  assert.deepEqual([next("elsewhere", 5), previous(null, 0)], ["a0", "b0"]);
  assert.equal(neighbour([], "a", 0, "next"), null);
});

test("the cursor touches a change on any of its lines, and removed ones at theirs", () => {
  assert.deepEqual(
    touching(STOPS, "a", 10, 10).map((one) => one.id),
    ["a1"],
  );
  assert.deepEqual(
    touching(STOPS, "a", 3, 3).map((one) => one.id),
    ["a0"],
  );
  assert.deepEqual(touching(STOPS, "a", 11, 11), []);
});
