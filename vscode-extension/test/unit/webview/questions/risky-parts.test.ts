import assert from "node:assert/strict";
import { test } from "node:test";
import { visibleText } from "../../../../src/shared/visible.ts";
import { marked, riskyParts } from "../../../../src/webview/questions/asked-text.tsx";

const markedText = (text: string, risky: readonly string[]) =>
  marked(visibleText(text, "command"), riskyParts(text, risky))
    .map((piece) => (piece.risky ? `{${piece.text}}` : piece.text))
    .join("");

test("a risky part is marked in the text", () => {
  assert.equal(
    markedText("ls && rm -r build/ && echo", ["rm -r build/ (removes files)"]),
    "ls && {rm -r build/} && echo",
  );
});

test("a risky part that contains brackets is found in full", () => {
  assert.deepEqual(riskyParts("echo $(date) x", ["echo $(date) x (runs something (date))"])[0], {
    part: "echo $(date) x",
    reason: "runs something (date)",
    from: 0,
    to: 14,
  });
});

test("UI-08: a risky part is found across folded blanks", () => {
  const text = `rm${" ".repeat(50)}-rf x; ls`;
  assert.equal(
    markedText(text, ["rm -rf x (removes files)"]),
    "{rm}{ [… 50 blanks …] }{-rf x}; ls",
  );
  assert.equal(riskyParts("rm [… 50 blanks …] -rf x", ["rm -rf x (removes)"])[0]?.from, 0);
});

test("a shortened risky part is marked as far as it is known, and a missing part is ignored", () => {
  assert.equal(markedText("echo aaaa bbbb", ["echo aaaa… (long)"]), "{echo aaaa} bbbb");
  assert.equal(markedText("ls", ["and 3 more"]), "ls");
  assert.equal(markedText("a+b(c", ["a+b(c (odd)"]), "{a+b(c}");
});
