import assert from "node:assert/strict";
import { test } from "node:test";
import { BlockStream } from "../../../../src/webview/markdown/block-stream.ts";
import { type ParsedBlock, parseBlocks } from "../../../../src/webview/markdown/parser.ts";

const PIECES = [
  "para\n",
  "para\n\n",
  "# h\n",
  "- a\n",
  "  - b\n",
  "* c\n",
  "1. x\n",
  "```js\n",
  "```\n",
  "~~~\n",
  "> q\n",
  "---\n",
  "===\n",
  "| a | b |\n",
  "|---|:-:|\n",
  "| 1 | 2 |\n",
  "    code\n",
  "\n",
  "\t\n",
  "`x`",
  "**b**",
  "[a](https://x.test)",
  "<b>",
  "# ",
  "1) z\n",
  "-\n",
  "*\n",
  "***",
  "``` a`\n",
  "\r\n",
  "lazy\n",
  "\\\n",
  "&amp;",
  "[foo]: /u\n",
];

/** A generator of its own, so that a failure comes again. */
function* numbers(seed: number): Generator<number, never> {
  for (let state = seed; ; ) {
    state = (state * 1_103_515_245 + 12_345) & 0x7fffffff;
    yield state / 0x7fffffff;
  }
}

/** Where a block stands in its tail is of no matter here. */
function meaning(block: ParsedBlock): ParsedBlock {
  return { ...block, start: 0 };
}

test("a text cut at every point becomes the same blocks as the text at once", () => {
  const random = numbers(7);
  for (let round = 0; round < 400; round += 1) {
    const count = 2 + Math.floor(random.next().value * 12);
    const text = Array.from(
      { length: count },
      () => PIECES[Math.floor(random.next().value * PIECES.length)] ?? "",
    ).join("");
    const stream = new BlockStream();
    for (let cut = 1; cut <= text.length; cut += 1) stream.update(text.slice(0, cut), false);
    stream.update(text, true);
    const whole = parseBlocks(text.replace(/\r\n?/g, "\n"));
    assert.deepEqual(
      stream.done.map(({ block }) => meaning(block)),
      whole.map(meaning),
      JSON.stringify(text),
    );
  }
});

test("a done block is the same value for ever", () => {
  const stream = new BlockStream();
  stream.update("One.\n\nTwo", false);
  const [first] = stream.done;
  for (const more of [".\n", "\n", "Three"]) stream.update(`One.\n\nTwo${more}`, false);
  assert.equal(stream.done[0], first);
});

test("the line that is being written may still belong to the block before it", () => {
  const stream = new BlockStream();
  stream.update("para\n```", false);
  assert.equal(stream.doneCount, 0);
  stream.update("para\n``` a`", false);
  assert.deepEqual(
    stream.open.map(({ block }) => block.kind),
    ["prose"],
  );
});

test("a text that does not continue begins anew", () => {
  const stream = new BlockStream();
  assert.equal(stream.update("One.\n\nTwo", false), false);
  assert.equal(stream.update("Other", false), true);
  assert.equal(stream.doneCount, 0);
});
