import assert from "node:assert/strict";
import { test } from "node:test";
import { KeptWords } from "../../../../src/webview/host/kept-words.ts";

function slot(initial: unknown = null) {
  let state = initial;
  return {
    getState: () => state,
    setState: (fresh: unknown) => {
      state = JSON.parse(JSON.stringify(fresh));
    },
  };
}

test("the text of each field is restored until the field is closed", () => {
  const memory = slot();
  const first = new KeptWords(memory);
  first.keepTyped({ text: "half a", at: 3 });
  first.keepDraft("prompt s 1", "changed");
  first.keepDraft("ask n", "an answer");
  first.keepDraft("ask n", null);
  const again = new KeptWords(memory);
  assert.deepEqual(again.typed, { text: "half a", at: 3 });
  assert.equal(again.draft("prompt s 1"), "changed");
  assert.equal(again.draft("ask n"), null);
});

test("when the storage is full, the least recently written draft is dropped", () => {
  const memory = slot();
  const kept = new KeptWords(memory);
  for (let at = 0; at < 20; at += 1) kept.keepDraft(`d${at}`, "x");
  kept.keepDraft("d0", "again");
  kept.keepDraft("d20", "x");
  const again = new KeptWords(memory);
  assert.equal(again.draft("d0"), "again");
  assert.equal(again.draft("d1"), null);
  assert.equal(again.draft("d20"), "x");
});

test("stored values of an unknown shape are ignored", () => {
  for (const state of [
    undefined,
    7,
    "x",
    [],
    { typed: 1, drafts: 2 },
    { drafts: [1, ["a"], null] },
  ]) {
    const kept = new KeptWords(slot(state));
    assert.equal(kept.typed, null);
    assert.equal(kept.draft("a"), null);
  }
});

test("a page that was shown before is not new, and a tab stores its id and its session", () => {
  const memory = slot();
  const first = new KeptWords(memory, "t");
  assert.equal(first.isNew("page"), true);
  first.keepSession("s");
  assert.deepEqual(memory.getState(), {
    tab: { id: "t", session: "s" },
    page: "page",
    typed: null,
    drafts: [],
  });
  assert.equal(new KeptWords(memory, "t").isNew("page"), false);
  assert.equal(new KeptWords(memory, "t").isNew("other"), true);
});
