import assert from "node:assert/strict";
import { test } from "node:test";
import { verdictOffers } from "../../../../src/extension/editor/commands/verdict-words.ts";
import { baseQuery, compared } from "../../../../src/extension/editor/review/resources.ts";
import type { ChangeRow } from "../../../../src/protocol.ts";

function row(
  id: string,
  path: string,
  turn: number,
  kind: ChangeRow["kind"] = "change",
): ChangeRow {
  const at = { line: 0, character: 0 };
  const range = { start: at, end: at };
  const texts = { old: "", new: "x\n", note: "", touched: false };
  return { id, uri: `file:///${path}`, path, range, turn, session: "s", kind, ...texts };
}

test("each offer covers a different set of changes and lists their ids", () => {
  const rows = [row("1", "a", 1), row("2", "a", 2), row("3", "b", 2)];
  const offers = verdictOffers("accept", rows, ["1"], "file:///a");
  assert.deepEqual(
    offers.map((one) => [one.label, one.description, one.argument.hunks]),
    [
      ["Accept this change", "1 change in a", ["1"]],
      ["Accept all changes in this file", "2 changes in a", ["1", "2"]],
      ["Accept all changes of turn 2", "2 changes in 2 files", ["2", "3"]],
      ["Accept all pending changes", "3 changes in 2 files", ["1", "2", "3"]],
    ],
  );
  assert.equal(verdictOffers("reject", [row("1", "a", 1)], ["1"], "file:///a").length, 1);
  assert.deepEqual(verdictOffers("reject", [], [], null), []);
});

test("a new file has no text before the changes, and a deleted file has none after them", () => {
  const rows = [
    row("1", "a", 1),
    row("2", "a", 1),
    row("3", "b", 1, "create"),
    row("4", "c", 1, "delete"),
  ];
  assert.deepEqual(
    compared(rows).map((one) => [one.path, one.hasBefore, one.hasAfter]),
    [
      ["a", true, true],
      ["b", false, true],
      ["c", true, false],
    ],
  );
});

test("the query for the base of a turn names the session and the turn", () => {
  assert.equal(baseQuery({ session: "s1", turn: 4 }), "session=s1&turn=4");
  assert.equal(baseQuery({}), "");
});
