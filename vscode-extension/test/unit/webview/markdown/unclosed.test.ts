import assert from "node:assert/strict";
import { test } from "node:test";
import { BlockStream, withEndClosed } from "../../../../src/webview/markdown/block-stream.ts";

const CASES: readonly (readonly [string, string])[] = [
  ["plain words", "plain words"],
  ["see `tests/test_0.py", "see `tests/test_0.py`"],
  ["see `a` and `b", "see `a` and `b`"],
  ["see `", "see"],
  ["see ``a ` b", "see ``a ` b``"],
  ["it is **very ", "it is **very**"],
  ["it is **", "it is"],
  ["it is **very `odd", "it is **very `odd`**"],
  ["it is **very `odd` so", "it is **very `odd` so**"],
  ["an escaped \\` stays", "an escaped \\` stays"],
  ["an `open one\n\nin the paragraph before", "an `open one\n\nin the paragraph before"],
];

test("code and emphasis that a partial text opens are closed at its end", () => {
  assert.deepEqual(
    CASES.map(([text]) => withEndClosed(text)),
    CASES.map(([, shown]) => shown),
  );
});

test("streamed text shows no backquote and no asterisks, and the final text keeps its code", () => {
  const stream = new BlockStream();
  const text = "The modules are `tests/a.py` and\n\n- **first**\n- the `second one` of them.";
  for (let end = 1; end <= text.length; end += 1) {
    stream.update(text.slice(0, end), false);
    const html = stream.open
      .map(({ block }) => (block.kind === "prose" ? block.html : ""))
      .join("");
    assert.ok(!/[`]|\*\*/.test(html), `${text.slice(0, end)}\n${html}`);
  }
  stream.update(text, true);
  const { block } = stream.done.at(-1) ?? {};
  assert.match(block?.kind === "prose" ? block.html : "", /<code>second one<\/code> of them\./);
});
