import assert from "node:assert/strict";
import { test } from "node:test";
import { fuzzy, marked } from "../../../../src/webview/composer/completion.tsx";

const shown = (query: string, label: string) =>
  marked(label, fuzzy(query, label)?.at ?? [])
    .map((piece) => (piece.hit ? `[${piece.text}]` : piece.text))
    .join("");

test("a query matches a run of letters, preferably at the start of a word, or else letters in order", () => {
  assert.equal(shown("inv", "src/invoice.py"), "src/[inv]oice.py");
  assert.equal(shown("py", "pypy/copy.py"), "[py]py/copy.py");
  assert.equal(shown("sip", "src/invoice.py"), "[s]rc/[i]nvoice.[p]y");
  assert.equal(shown("MODE", "/mode"), "/[mode]");
});

test("a query with other letters matches nothing, and an empty query matches everything", () => {
  assert.equal(fuzzy("xyz", "invoice"), null);
  assert.deepEqual(fuzzy("", "invoice"), { score: 0, at: [] });
});

test("a match at the start of a word scores higher than one within, and a run higher than scattered letters", () => {
  const score = (query: string, label: string) => fuzzy(query, label)?.score ?? -1;
  assert.ok(score("mode", "/mode") > score("mode", "/remodel"));
  assert.ok(score("mo", "/mode") > score("mo", "/my-old"));
});
