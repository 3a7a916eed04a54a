import assert from "node:assert/strict";
import { test } from "node:test";
import { plainSentence } from "../../../src/shared/words.ts";

test("a server message becomes a sentence without backquotes", () => {
  assert.equal(
    plainSentence("the model 'm' is not known to take pictures; set `pictures = true` if it does"),
    "The model 'm' is not known to take pictures; set pictures = true if it does.",
  );
});

test("a complete sentence stays unchanged", () => {
  assert.equal(plainSentence("The server was stopped."), "The server was stopped.");
  assert.equal(plainSentence("Which one?"), "Which one?");
  assert.equal(plainSentence(""), "");
});

test("a file or setting name at the beginning of a message is not capitalised", () => {
  assert.equal(plainSentence("src/a.py is no file"), "src/a.py is no file.");
  assert.equal(plainSentence("'a.py' is no picture"), "'a.py' is no picture.");
  assert.equal(plainSentence("indwell.serverPath is wrong"), "indwell.serverPath is wrong.");
});
