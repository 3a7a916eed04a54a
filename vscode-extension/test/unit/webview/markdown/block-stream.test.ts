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

/** A seeded generator of random numbers, so that a failure can be reproduced. */
function* numbers(seed: number): Generator<number, never> {
  for (let state = seed; ; ) {
    state = (state * 1_103_515_245 + 12_345) & 0x7fffffff;
    yield state / 0x7fffffff;
  }
}

/** The block without its position in the stream, which differs from that in the whole text. */
function withoutPosition(block: ParsedBlock): ParsedBlock {
  return { ...block, start: 0 };
}

test("a streamed text gives the same blocks as the whole text", () => {
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
      stream.done.map(({ block }) => withoutPosition(block)),
      whole.map(withoutPosition),
      JSON.stringify(text),
    );
  }
});

test("a finished block stays the same object", () => {
  const stream = new BlockStream();
  stream.update("One.\n\nTwo", false);
  const [first] = stream.done;
  for (const more of [".\n", "\n", "Three"]) stream.update(`One.\n\nTwo${more}`, false);
  assert.equal(stream.done[0], first);
});

test("an incomplete line can still belong to the block before it", () => {
  const stream = new BlockStream();
  stream.update("para\n```", false);
  assert.equal(stream.doneCount, 0);
  stream.update("para\n``` a`", false);
  assert.deepEqual(
    stream.open.map(({ block }) => block.kind),
    ["prose"],
  );
});

test("a text that does not continue the previous text resets the stream", () => {
  const stream = new BlockStream();
  assert.equal(stream.update("One.\n\nTwo", false), false);
  assert.equal(stream.update("Other", false), true);
  assert.equal(stream.doneCount, 0);
});
