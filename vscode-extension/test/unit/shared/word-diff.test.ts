import assert from "node:assert/strict";
import { test } from "node:test";
import { pairLines } from "../../../src/shared/word-diff.ts";
import { assertNearlyLinear } from "../cpu-time.ts";

/** Each pair as `old>new` and its new line, with marks: `[-removed-]` and `{+added+}`. */
function drawn(old: readonly string[], fresh: readonly string[]): readonly string[] {
  return pairLines(old, fresh).map((pair) => {
    const before = old[pair.old] ?? "";
    const after = fresh[pair.fresh] ?? "";
    const marks = [
      ...pair.removed.map(({ from, to, at }) => ({ at, text: `[-${before.slice(from, to)}-]` })),
      ...pair.added.flatMap(({ from, to }) => [
        { at: from, text: "{+" },
        { at: to, text: "+}" },
      ]),
    ].sort((one, other) => one.at - other.at);
    let text = "";
    let at = 0;
    for (const mark of marks) {
      text += after.slice(at, mark.at) + mark.text;
      at = mark.at;
    }
    return `${pair.old}>${pair.fresh} ${text}${after.slice(at)}`;
  });
}

test("removed and added words are marked at their positions", () => {
  assert.deepEqual(
    drawn(
      ["    amount += round(line.quantity * line.price, 2)", "    return amount"],
      ["    amount += line.quantity * line.price", "    return round(amount, 2)"],
    ),
    [
      "0>0     amount += [-round(-]line.quantity * line.price[-, 2)-]",
      "1>1     return {+round(+}amount{+, 2)+}",
    ],
  );
});

test("a change of indentation alone gets no marks", () => {
  assert.deepEqual(drawn(["    return total(lines)"], ["\treturn total(lines)"]), [
    "0>0 \treturn total(lines)",
  ]);
});

test("unrelated lines form no pair, and pairs keep their order", () => {
  assert.deepEqual(drawn(["import os"], ["def total(lines):"]), []);
  assert.deepEqual(
    drawn(["alpha beta gamma", "one two three"], ["new line here", "one two 3 three"]),
    ["1>1 one two {+3 +}three"],
  );
  assert.deepEqual(drawn([], ["x"]), []);
});

test("a change of consecutive words is one mark, which includes the blanks between them", () => {
  assert.deepEqual(drawn(["keep this one two three end"], ["keep this uno dos tres end"]), [
    "0>0 keep this [-one two three-]{+uno dos tres+} end",
  ]);
});

test("a mark never splits a surrogate pair", () => {
  for (const [old, fresh] of [
    ["名前 = 値 # コメント", "名前 = 新しい値 # コメント"],
    ['print("👍🏽 done and said")', 'print("👎🏽 done and said")'],
    ["cafe\u0301 = open(menu)", "cafe = open(menu)"],
  ] as const) {
    const [pair] = pairLines([old], [fresh]);
    for (const [text, spans] of [
      [old, pair?.removed ?? []],
      [fresh, pair?.added ?? []],
    ] as const) {
      for (const edge of spans.flatMap(({ from, to }) => [from, to])) {
        assert.doesNotMatch(text.slice(edge - 1, edge + 1), /^[\ud800-\udbff][\udc00-\udfff]$/);
      }
    }
    assert.ok(pair, old);
  }
});

test("a combining mark is never cut from its letter or sign", () => {
  assert.deepEqual(drawn(["cafe\u0301 = open(menu)"], ["cafe = open(menu)"]), [
    "0>0 [-cafe\u0301-]{+cafe+} = open(menu)",
  ]);
  assert.deepEqual(drawn(["if one = other then"], ["if one =\u0338 other then"]), [
    "0>0 if one [-=-]{+=\u0338+} other then",
  ]);
  assert.deepEqual(drawn(["say('\u2764 so it is')"], ["say('\u2764\ufe0f so it is')"]), [
    "0>0 say('[-\u2764-]{+\u2764\ufe0f+} so it is')",
  ]);
});

test("too many or too long lines are not compared", () => {
  const numbered = (count: number) =>
    Array.from({ length: count }, (_, n) => `line ${n} with some words`);
  assert.equal(pairLines(numbered(100), numbered(100)).length, 100);
  assert.deepEqual(pairLines(numbered(101), numbered(100)), []);
  assert.deepEqual(pairLines(numbered(100), numbered(101)), []);
  assert.deepEqual(pairLines(["x ".repeat(5_000)], ["x ".repeat(5_001)]), []);
  assert.deepEqual(pairLines(["x ".repeat(201)], ["x ".repeat(201)]), []);
});

test("eight times as many long lines take at most 24 times the CPU time", () => {
  const line = (n: number) => `${n} ${"word other ".repeat(40)}`;
  assertNearlyLinear((times) => {
    const old = Array.from({ length: 12 * times }, (_, n) => line(n));
    const fresh = old.map((text) => `${text} more`);
    assert.equal(pairLines(old, fresh).length, old.length);
  });
});
