import assert from "node:assert/strict";
import { test } from "node:test";
import { tokenAt } from "../../../../src/webview/composer/completion.tsx";

/** `|` marks the caret. */
function at(text: string) {
  const caret = text.indexOf("|");
  const token = tokenAt(text.replace("|", ""), caret);
  return token === null ? null : [token.what, token.query, token.start, token.end];
}

test("a mention is a word that begins with @ and ends at the caret", () => {
  assert.deepEqual(at("@|"), ["@", "", 0, 1]);
  assert.deepEqual(at("look at @src/inv|oice"), ["@", "src/inv", 8, 16]);
  assert.deepEqual(at("see\n(@a|)"), ["@", "a", 5, 7]);
  assert.deepEqual(at("@größe|"), ["@", "größe", 0, 6]);
});

test("an e-mail address, an @ at the end of a word and a finished mention are not completed", () => {
  assert.equal(at("me@example|.org"), null);
  assert.equal(at("@src/a.py |"), null);
  assert.equal(at("a@|"), null);
});

test("a command is completed only at the beginning of the text, with at most one value", () => {
  assert.deepEqual(at("/|"), ["/", "", 0, 1]);
  assert.deepEqual(at("/mo|"), ["/", "mo", 0, 3]);
  assert.deepEqual(at("/mode pl|"), ["/", "mode pl", 0, 8]);
  assert.equal(at("please /mo|"), null);
  assert.equal(at("/usr/bi|"), null);
  assert.equal(at("/mode plan now|"), null);
  assert.equal(at("|/mode"), null);
});

test("a very long word is not completed", () => {
  assert.equal(tokenAt(`@${"x".repeat(100_000)}`, 100_001), null);
});
