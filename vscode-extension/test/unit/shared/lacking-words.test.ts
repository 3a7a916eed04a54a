import assert from "node:assert/strict";
import { test } from "node:test";
import { lackingWords } from "../../../src/shared/words.ts";

test("what is missing is one sentence, and the advice for terminals stands apart", () => {
  const said = 'no model is set; run `indwell login` in a terminal, or write model = "…" in c.toml';
  assert.deepEqual(lackingWords(said), {
    sentence: "No model is set yet.",
    details: 'Run indwell login in a terminal, or write model = "…" in c.toml.',
  });
});

test("a settings file that cannot be used is said as it is", () => {
  assert.deepEqual(lackingWords("config.toml, line 3: no such setting"), {
    sentence: "config.toml, line 3: no such setting.",
    details: "",
  });
});

test("nothing lacks where nothing is said", () => {
  assert.deepEqual(lackingWords(""), { sentence: "", details: "" });
});
