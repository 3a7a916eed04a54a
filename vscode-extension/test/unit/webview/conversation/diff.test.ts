import assert from "node:assert/strict";
import { test } from "node:test";
import type { ChangeRow } from "../../../../src/protocol.ts";
import { matchPending } from "../../../../src/webview/conversation/edit-card.tsx";
import { readable } from "../../../../src/webview/conversation/tool-detail.tsx";
import {
  MOST_LINES,
  readChange,
  readDiff,
  withoutReturn,
  wordMarks,
} from "../../../../src/webview/conversation/unified-diff.ts";
import { assertNearlyLinear } from "../../cpu-time.ts";

const DIFF =
  "--- a/x.py\n+++ b/x.py\n@@ -1,3 +1,3 @@\n a\n-b\n+B\n c\n@@ -9,2 +9,3 @@\n d\n+e\n f\n";

function row(id: string, old: string, fresh: string): ChangeRow {
  const range = { start: { line: 1, character: 0 }, end: { line: 2, character: 0 } };
  return {
    id,
    uri: "file:///x.py",
    path: "x.py",
    range,
    old,
    new: fresh,
    turn: 1,
    session: "s",
    touched: false,
    kind: "change",
    note: "",
  };
}

test("a diff is split into groups with their line numbers in the new file", () => {
  const { groups } = readDiff(DIFF);
  assert.deepEqual(
    groups.map((group) => [
      group.changed,
      group.line,
      group.gap,
      group.lines.map((line) => line.text).join(),
    ]),
    [
      [false, 1, false, "a"],
      [true, 2, false, "b,B"],
      [false, 3, false, "c"],
      [false, 9, true, "d"],
      [true, 10, false, "e"],
      [false, 11, false, "f"],
    ],
  );
});

test("diff lines have the numbers of their file, and a pending change numbers only its new lines", () => {
  const numbers = (read: ReturnType<typeof readDiff>) =>
    read.groups.flatMap((group) =>
      group.lines.map(({ kind, number }) => `${kind} ${String(number)}`),
    );
  assert.deepEqual(numbers(readDiff("@@ -7,3 +9,3 @@\n a\n-b\n-c\n+B\n d\n")), [
    "same 9",
    "removed 8",
    "removed 9",
    "added 10",
    "same 11",
  ]);
  assert.deepEqual(numbers(readChange("b\n", "B\n", 12)), ["removed 0", "added 12"]);
});

test("the changed words of a pair of lines are marked", () => {
  const [group] = readDiff("@@ -1 +1 @@\n-  return total\r\n+  return round(total)\r\n").groups;
  assert.ok(group);
  assert.deepEqual(
    [...wordMarks(group)],
    [
      [0, []],
      [
        1,
        [
          { from: 9, to: 15 },
          { from: 20, to: 21 },
        ],
      ],
    ],
  );
});

/** A diff with a change of one line in each hunk. */
const hunks = (count: number): string =>
  Array.from({ length: count }, (_, n) => `@@ -${n + 1} +${n + 1} @@\n-a${n}\n+b${n}\n`).join("");

test("ui_11 a diff of 100,000 hunks is cut, with counts of the omitted lines and hunks", () => {
  const read = readDiff(hunks(100_000));
  assert.equal(read.groups.flatMap((group) => group.lines).length, MOST_LINES);
  assert.equal(read.cutLines, 200_000 - MOST_LINES);
  assert.equal(read.cutHunks, 100_000 - MOST_LINES / 2);
});

test("ui_11 a diff of eight times as many hunks takes at most 24 times the CPU time", () => {
  const diffs = { 1: hunks(12_500), 8: hunks(100_000) };
  assertNearlyLinear((times) => void readDiff(diffs[times]));
});

const NOTED: readonly (readonly [string, string, string])[] = [
  ["line ends to CRLF", "-a\n+a\r\n", "Only line ends change: LF becomes CRLF."],
  ["line ends to LF", "-a\r\n+a\n", "Only line ends change: CRLF becomes LF."],
  ["blanks", "-a b\n+a  b\n", "Only blanks change."],
  ["invisible characters", "-ab\n+a\u200bb\n", "Only invisible characters change."],
  [
    "a missing last line end",
    "-a\n+b\n\\ No newline at end of file\n",
    "The last line has no line end, before or after.",
  ],
];
for (const [name, body, words] of NOTED) {
  test(`ui_11 a change of ${name} gets a note`, () => {
    assert.ok(readDiff(`@@ -1 +1 @@\n${body}`).notes.includes(words));
  });
}

test("ui_11 binary files and file modes get notes", () => {
  assert.deepEqual(
    readDiff("old mode 100644\nnew mode 100755\nBinary files a/x and b/x differ\n").notes,
    ["Mode before: 100644.", "Mode after: 100755.", "A binary file: its bytes are not shown."],
  );
});

test("each pending change is matched to its group in the edit's diff", () => {
  const [shown, ...more] = matchPending(DIFF, [row("h2", "", "e\n"), row("h1", "b\n", "B\n")]);
  assert.deepEqual(more, []);
  assert.deepEqual(
    [...(shown?.verdicts ?? [])],
    [
      [4, "h2"],
      [1, "h1"],
    ],
  );
});

test("a pending change that is not in the edit's diff is shown separately", () => {
  const shown = matchPending(DIFF, [row("h1", "b\n", "B\n"), row("h3", "x\n", "y\n")]);
  assert.deepEqual(
    shown.map(({ verdicts }) => [...verdicts.values()]),
    [["h1"], ["h3"]],
  );
});

test("output loses escape sequences and earlier states of a progress line, and is cut at its start", () => {
  assert.deepEqual(
    readable(
      "\u001b[31mred\u001b[0m\r\n1 %\r2 %\n\u001b]8;;https://x.test\u0007link\u001b]8;;\u0007",
      100,
    ),
    {
      text: "red\n2 %\nlink",
      cut: 0,
    },
  );
  assert.deepEqual(readable("abcdef", 3), { text: "def", cut: 3 });
});

test("a diff that changes text and line ends gets one note about the line ends", () => {
  const changed = readDiff("@@ -1,2 +1,2 @@\n-a\r\n-b\r\n+A\n+B\n");
  assert.deepEqual(changed.notes, ["Line ends change too: CRLF becomes LF."]);
  assert.deepEqual(readDiff("@@ -1 +1 @@\n-a\r\n+A\r\n").notes, []);
  assert.equal(withoutReturn("a\r"), "a");
  assert.equal(withoutReturn("a\rb"), "a\rb");
});
