import assert from "node:assert/strict";
import { test } from "node:test";
import { withDraft } from "../../../../src/shared/state/reduce-composer.ts";

const replace = (typed: string, text: string) => withDraft(typed, { text, mode: "replace" });
const append = (typed: string, text: string) => withDraft(typed, { text, mode: "append" });

test("a returned draft fills an empty composer unchanged", () => {
  assert.equal(replace("", " two\nlines "), " two\nlines ");
  assert.equal(append("  \n", "words"), "words");
});

test("a returned draft goes before the typed text, and an appended draft after it", () => {
  assert.equal(replace("typed since", "sent"), "sent\n\ntyped since");
  assert.equal(append("typed", "more"), "typed\n\nmore");
});

test("a draft that the composer already contains is not added again", () => {
  assert.equal(replace("sent\n\ntyped", "sent"), "sent\n\ntyped");
  assert.equal(append("typed\n\nmore", "more"), "typed\n\nmore");
});

test("an empty draft changes nothing", () => {
  assert.equal(replace("typed", ""), "typed");
  assert.equal(append("typed", " \n"), "typed");
});

const remove = (typed: string, text: string) => withDraft(typed, { text, mode: "remove" });

test("a draft that is sent again is removed from the composer", () => {
  for (const sent of ["sent", " two\nlines "]) {
    assert.equal(remove(replace("", sent), sent), "");
    assert.equal(remove(replace("typed since", sent), sent), "typed since");
    assert.equal(remove(append("typed before", sent), sent), "typed before");
  }
});

test("a draft that the user edited stays in the composer when the original is sent again", () => {
  assert.equal(remove("sent otherwise", "sent"), "sent otherwise");
  assert.equal(remove("not sent", "sent"), "not sent");
  assert.equal(remove("typed", ""), "typed");
});
