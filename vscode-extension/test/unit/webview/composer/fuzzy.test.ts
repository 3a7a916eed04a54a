import assert from "node:assert/strict";
import { test } from "node:test";
import { fuzzy, marked } from "../../../../src/webview/composer/completion.tsx";

const shown = (query: string, label: string) =>
  marked(label, fuzzy(query, label)?.at ?? [])
    .map((piece) => (piece.hit ? `[${piece.text}]` : piece.text))
    .join("");

test("letters are found in order, a whole run first, at the beginning of a word if there is one", () => {
  assert.equal(shown("inv", "src/invoice.py"), "src/[inv]oice.py");
  assert.equal(shown("py", "pypy/copy.py"), "[py]py/copy.py");
  assert.equal(shown("sip", "src/invoice.py"), "[s]rc/[i]nvoice.[p]y");
  assert.equal(shown("MODE", "/mode"), "/[mode]");
});

test("letters that are not there match nothing; no letters match everything", () => {
  assert.equal(fuzzy("xyz", "invoice"), null);
  assert.deepEqual(fuzzy("", "invoice"), { score: 0, at: [] });
});

test("a beginning wins over a middle, a run over scattered letters", () => {
  const score = (query: string, label: string) => fuzzy(query, label)?.score ?? -1;
  assert.ok(score("mode", "/mode") > score("mode", "/remodel"));
  assert.ok(score("mo", "/mode") > score("mo", "/my-old"));
});
