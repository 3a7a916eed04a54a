/** Terminal output and test results as text for the model. */
import assert from "node:assert/strict";
import { test } from "node:test";
import {
  plainOutput,
  runLabel,
  runText,
} from "../../../../src/extension/editor/attach/command-run.ts";
import { MOST_TEXT } from "../../../../src/extension/editor/attach/mention.ts";
import { testText } from "../../../../src/extension/editor/commands/test-text.ts";

test("output loses colours, titles and shell marks, and an overwritten line keeps its last text", () => {
  const raw =
    "\x1b]633;C\x07\x1b]0;make\x1b\\\x1b[1;31mError\x1b[0m: no rule\r\n" +
    "10 %\r50 %\r100 %\r\r\nabx\bc\tend\x07\r\n\x1b[?25h\x1b(B\x9b2K\r\n";
  assert.equal(plainOutput(raw), "Error: no rule\n100 %\nabc\tend");
  assert.equal(plainOutput("a\r\n\r\nb\r\n"), "a\n\nb");
});

test("an incomplete escape sequence removes none of the text around it", () => {
  assert.equal(
    plainOutput("31mred\x1b[0m and \x1b]never ended\nlast"),
    "31mred and never ended\nlast",
  );
});

test("the text of a command has its output and exit code, and the label of its chip is one line", () => {
  const run = { command: "make all\n  -j 2 ", exitCode: 2, output: "no rule" };
  assert.equal(runLabel(run), "Terminal: make all -j 2 (exit code 2)");
  assert.equal(runText(run), "$ make all\n  -j 2\nno rule\n[exit code 2]");
  const unknown = { command: "x".repeat(80), exitCode: null, output: "" };
  assert.equal(runLabel(unknown), `Terminal: ${"x".repeat(60)}…`);
  assert.ok(runText(unknown).endsWith("\n[VS Code passed on no output]"));
  const long = runText({ ...run, output: "y".repeat(2 * MOST_TEXT) });
  assert.ok(long.length <= MOST_TEXT && long.endsWith("y\n[exit code 2]"));
});

test("the text of a failed test has the expected and actual values, and states that a message is missing", () => {
  const failed = {
    names: ["tests", "test_total"],
    place: "tests/test_invoice.py:4",
    message: "assert 0.99 == 1.0\n",
    expected: "1.0",
    actual: "0.99",
    failedAt: "tests/test_invoice.py:5",
    stack: ["test_total (tests/test_invoice.py:5)"],
  };
  assert.equal(
    testText(failed),
    [
      "test: tests > test_total",
      "in: tests/test_invoice.py:4",
      "failed at: tests/test_invoice.py:5",
      "message:\nassert 0.99 == 1.0",
      "expected:\n1.0",
      "actual:\n0.99",
      "stack:\ntest_total (tests/test_invoice.py:5)",
    ].join("\n"),
  );
  const bare = { ...failed, message: "", expected: null, actual: null, failedAt: "", stack: [] };
  assert.match(testText(bare), /did not pass on the message/);
});
