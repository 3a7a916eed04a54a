import assert from "node:assert/strict";
import { test } from "node:test";
import { withDraft } from "../../../../src/shared/state/reduce-composer.ts";

const replace = (typed: string, text: string) => withDraft(typed, { text, mode: "replace" });
const append = (typed: string, text: string) => withDraft(typed, { text, mode: "append" });

test("words that come back fill an empty composer as they are", () => {
  assert.equal(replace("", " two\nlines "), " two\nlines ");
  assert.equal(append("  \n", "words"), "words");
});

test("words that come back stand before what was typed meanwhile, and nothing of either goes", () => {
  assert.equal(replace("typed since", "sent"), "sent\n\ntyped since");
  assert.equal(append("typed", "more"), "typed\n\nmore");
});

test("words that stand there already are not put there twice", () => {
  assert.equal(replace("sent\n\ntyped", "sent"), "sent\n\ntyped");
  assert.equal(append("typed\n\nmore", "more"), "typed\n\nmore");
});

test("a draft without words changes nothing", () => {
  assert.equal(replace("typed", ""), "typed");
  assert.equal(append("typed", " \n"), "typed");
});

const remove = (typed: string, text: string) => withDraft(typed, { text, mode: "remove" });

test("words that were sent again go, as they were put there", () => {
  for (const sent of ["sent", " two\nlines "]) {
    assert.equal(remove(replace("", sent), sent), "");
    assert.equal(remove(replace("typed since", sent), sent), "typed since");
    assert.equal(remove(append("typed before", sent), sent), "typed before");
  }
});

test("words that the user changed stay when the old ones are sent again", () => {
  assert.equal(remove("sent otherwise", "sent"), "sent otherwise");
  assert.equal(remove("not sent", "sent"), "not sent");
  assert.equal(remove("typed", ""), "typed");
});
