import assert from "node:assert/strict";
import { test } from "node:test";
import { KeptWords } from "../../../../src/webview/host/kept-words.ts";

function slot(begun: unknown = null) {
  let state = begun;
  return {
    getState: () => state,
    setState: (fresh: unknown) => {
      state = JSON.parse(JSON.stringify(fresh));
    },
  };
}

test("words of every field come back, until they are closed", () => {
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

test("the drafts that were written longest ago go first", () => {
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

test("a memory of another shape is not believed", () => {
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

test("a page that is shown again is known, and a tab keeps its name and its session", () => {
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
