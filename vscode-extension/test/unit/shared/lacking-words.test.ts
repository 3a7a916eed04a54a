import assert from "node:assert/strict";
import { test } from "node:test";
import { lackingWords } from "../../../src/shared/words.ts";

test("a missing model becomes one sentence, with the advice for terminals as details", () => {
  const message =
    'no model is set; run `indwell login` in a terminal, or write model = "…" in c.toml';
  assert.deepEqual(lackingWords(message), {
    sentence: "No model is set yet.",
    details: 'Run indwell login in a terminal, or write model = "…" in c.toml.',
  });
});

test("an error in a settings file becomes one sentence without details", () => {
  assert.deepEqual(lackingWords("config.toml, line 3: no such setting"), {
    sentence: "config.toml, line 3: no such setting.",
    details: "",
  });
});

test("an empty message gives an empty sentence", () => {
  assert.deepEqual(lackingWords(""), { sentence: "", details: "" });
});
