import assert from "node:assert/strict";
import { test } from "node:test";
import { type Looked, NOTHING_TOLD, news } from "../../../../src/extension/client/attention.ts";

const range = (line: number, to: number) => ({
  start: { line, character: 0 },
  end: { line: to, character: 0 },
});
const looked = (uri: string, version: number, ...ranges: Looked["ranges"]): Looked => ({
  uri,
  version,
  ranges,
});

test("a new server gets the focus and the selection", () => {
  const found = news(NOTHING_TOLD, looked("a", 1, range(1, 3)));
  assert.equal(found.focus, "a");
  assert.deepEqual(found.selection, looked("a", 1, range(1, 3)));
});

test("a moving cursor without a selection is reported once", () => {
  const first = news(NOTHING_TOLD, looked("a", 1, range(1, 1)));
  assert.deepEqual(first.selection?.ranges, []);
  const second = news(first.told, looked("a", 2, range(7, 7)));
  assert.deepEqual([second.focus, second.selection], [undefined, undefined]);
});

test("the same selected lines are reported again for a new version of the document", () => {
  const first = news(NOTHING_TOLD, looked("a", 1, range(1, 3)));
  assert.equal(news(first.told, looked("a", 1, range(1, 3))).selection, undefined);
  assert.equal(news(first.told, looked("a", 2, range(1, 3))).selection?.version, 2);
});

test("without a document the focus is null and no selection is reported", () => {
  const first = news(NOTHING_TOLD, looked("a", 1, range(1, 3)));
  const found = news(first.told, null);
  assert.deepEqual([found.focus, found.selection], [null, undefined]);
});

test("a cleared selection is reported as empty", () => {
  const first = news(NOTHING_TOLD, looked("a", 1, range(1, 3)));
  assert.deepEqual(news(first.told, looked("a", 1, range(2, 2))).selection?.ranges, []);
});
