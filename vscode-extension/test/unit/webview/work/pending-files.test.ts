import assert from "node:assert/strict";
import { test } from "node:test";
import type { ChangeRow } from "../../../../src/protocol.ts";
import { pendingFiles } from "../../../../src/webview/work/pending-bar.tsx";

const ROW: ChangeRow = {
  id: "1",
  uri: "file:///w/a.py",
  path: "a.py",
  range: { start: { line: 0, character: 0 }, end: { line: 0, character: 0 } },
  old: "x\n",
  new: "y\nz",
  turn: 1,
  session: "s",
  touched: false,
  kind: "change",
  note: "",
};

test("changes of one file share a row with their ids and their total of lines", () => {
  const rows = [
    { ...ROW, path: "b.py", kind: "create", old: "" } as const,
    ROW,
    { ...ROW, id: "2", new: "" },
  ];
  assert.deepEqual(pendingFiles(rows), [
    { path: "a.py", ids: ["1", "2"], added: 2, removed: 2, note: "" },
    { path: "b.py", ids: ["1"], added: 2, removed: 0, note: "new" },
  ]);
});
