import assert from "node:assert/strict";
import { test } from "node:test";
import { inCells } from "../../../../src/extension/editor/pending/cells.ts";
import { details, MOST, marks } from "../../../../src/extension/editor/pending/marks.ts";
import {
  neighbour,
  type Stop,
  touching,
} from "../../../../src/extension/editor/pending/neighbours.ts";
import type { PendingLines } from "../../../../src/extension/editor/pending/pending-lines.ts";
import { ghostWords, lostWords } from "../../../../src/extension/editor/pending/removed-text.ts";

function lines(first: number, count: number, old = ""): PendingLines {
  const removed = old === "" ? 0 : old.trimEnd().split("\n").length;
  return { id: `${first}`, kind: "change", first, count, old, removed, turn: 1, touched: false };
}

test("added lines get a bar and a background, and removed lines get a thin line", () => {
  const replaced = lines(2, 3, "a\n");
  const gone = lines(9, 0, "b\nc\n");
  const run = { first: 2, last: 4, change: replaced };
  assert.deepEqual(marks([replaced, gone], 20), {
    bars: [run],
    added: [run],
    gaps: [{ first: 9, last: 9, change: gone }],
  });
});

test("a new file has a bar and no background", () => {
  const created: PendingLines = { ...lines(0, 5), kind: "create" };
  assert.deepEqual(marks([created], 5), {
    bars: [{ first: 0, last: 4, change: created }],
    added: [],
    gaps: [],
  });
});

test("marks beyond the end of a shortened text move to its last line", () => {
  const found = marks([lines(90, 5, "x\n"), lines(95, 0, "x\n")], 10);
  assert.deepEqual([found.bars[0]?.first, found.bars[0]?.last], [9, 9]);
  assert.equal(found.gaps[0]?.first, 9);
});

const of = (change: PendingLines, fresh: readonly string[]) =>
  details({ first: change.first, last: change.first + change.count - 1, change }, fresh);

test("removed words are shown at their old positions, and added words are marked", () => {
  const change = lines(4, 2, "  amount += round(line.count * price, 2)\r\n  return amount\r\n");
  assert.deepEqual(of(change, ["  amount += line.count * price", "  return abs(amount)"]), {
    words: [
      { line: 5, from: 9, to: 13 },
      { line: 5, from: 19, to: 20 },
    ],
    lost: [
      { line: 4, at: 12, text: "round(" },
      { line: 4, at: 30, text: ", 2)" },
    ],
    ghosts: [],
  });
});

test("removed lines are shown at the ends of new lines, and those without a line of their own are counted", () => {
  const old = "first removed\n\nkeep this word here\nsecond removed\nthird removed\n";
  assert.deepEqual(of(lines(4, 2, old), ["keep this other word here", "all new"]), {
    words: [{ line: 4, from: 10, to: 16 }],
    lost: [],
    ghosts: [
      { line: 4, text: "first removed", more: 0 },
      { line: 5, text: "second removed", more: 1 },
    ],
  });
  assert.deepEqual(of(lines(9, 0, "one\ntwo\n"), []).ghosts, [{ line: 9, text: "one", more: 1 }]);
});

test("a line with a long removed part shows its old text in full", () => {
  const old = `call(kept, also_kept, ${"gone, ".repeat(20)}and_kept_as_well, ${"x".repeat(60)})\n`;
  const found = of(lines(0, 1, old), [
    `call(kept, also_kept, and_kept_as_well, ${"x".repeat(60)})`,
  ]);
  assert.deepEqual(found.lost, []);
  assert.equal(found.ghosts[0]?.text, old.trimEnd());
});

test("created, deleted and opaque files have no marks within lines", () => {
  const kinds = ["create", "delete", "opaque"] as const;
  for (const kind of kinds) {
    assert.deepEqual(of({ ...lines(0, 1, "old\n"), kind }, ["old"]), {
      words: [],
      lost: [],
      ghosts: [],
    });
  }
});

test("removed text is one short line without tabs, plain blanks or hidden characters", () => {
  assert.equal(lostWords("a b", 4), "a\u00a0b");
  assert.equal(lostWords("\tif x:\t# 値", 4), "    if x:   # 値".replaceAll(" ", "\u00a0"));
  assert.doesNotMatch(lostWords("a\u202eb\u200bc", 4), /[\u202e\u200b]/);
  assert.ok(lostWords("x".repeat(5_000), 4).length < 200);
  const ghost = { line: 0, text: "gone", more: 0 };
  assert.equal(ghostWords(ghost, 4), "−\u00a0gone");
  assert.equal(ghostWords({ ...ghost, more: 3 }, 4).replaceAll("\u00a0", " "), "− gone  … 3 more");
  assert.equal(
    ghostWords({ ...ghost, text: "", more: 3 }, 4).replaceAll("\u00a0", " "),
    "− 3 removed lines",
  );
});

test("a change of a notebook is split among its cells", () => {
  assert.deepEqual(
    inCells(lines(4, 2, "old\n"), [2, 2, 1]),
    [{ cell: 1, change: lines(0, 2, "old\n") }].map((one) => ({
      ...one,
      change: { ...one.change, id: "4" },
    })),
  );
  assert.deepEqual(
    inCells(lines(5, 3), [2, 2, 1]).map(({ cell, change }) => [cell, change.first, change.count]),
    [
      [1, 1, 1],
      [2, 0, 1],
    ],
  );
});

test("the number of drawn changes has a limit", () => {
  const many = Array.from({ length: MOST + 50 }, (_, index) => lines(index * 2, 1));
  assert.equal(marks(many, 100_000).bars.length, MOST);
});

const STOPS: readonly Stop[] = [
  { id: "a1", uri: "a", line: 9, count: 2 },
  { id: "a0", uri: "a", line: 3, count: 0 },
  { id: "b0", uri: "b", line: 1, count: 1 },
];

test("next and previous visit the changes of all files and wrap around", () => {
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

test("the cursor touches a change on any of its lines, and removed lines at their position", () => {
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

test("each of 500 changes of one file has a bar and its own details", () => {
  const many = Array.from({ length: 500 }, (_, n) =>
    lines(n * 10, 3, `total = round(price_${n}, 2)\nsum = total\nreturn sum\n`),
  );
  const { bars } = marks(many, 5_000);
  assert.equal(bars.length, 500);
  for (const run of bars) {
    const n = run.first / 10;
    const found = details(run, [`total = price_${n}`, "sum = total + 1", "return sum"]);
    assert.deepEqual(found.words, [{ line: run.first + 1, from: 11, to: 15 }]);
  }
});
