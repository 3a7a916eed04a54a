import assert from "node:assert/strict";
import { test } from "node:test";
import { visible, visibleText, warnings } from "../../../src/shared/visible.ts";
import { assertNearlyLinear } from "../cpu-time.ts";

const drawn = (text: string, reading: "command" | "prose" = "command") =>
  visibleText(text, reading)
    .map((piece) => (piece.kind === "plain" ? piece.text : `<${piece.kind} ${piece.text}>`))
    .join("");

test("UI-07: terminal control characters are shown as escapes", () => {
  const hostile = "\u001b[2J\u001b]8;;http://x\u0007link\r\u001b]52;c;AAAA\u0007ls";
  const shown = drawn(hostile);
  assert.equal(
    shown,
    "<escape \\u001b>[2J<escape \\u001b>]8;;http://x<escape \\u0007>link<escape \\u000d>" +
      "<escape \\u001b>]52;c;AAAA<escape \\u0007>ls",
  );
  assert.deepEqual(warnings(visibleText(hostile, "command")), ["6 control characters"]);
});

test("UI-07: no character below U+3000 leaves a control character in a piece", () => {
  for (let point = 0; point < 0x3000; point += 1) {
    const character = String.fromCodePoint(point);
    if (character === "\n" || character === "\t") continue;
    const text = visibleText(`a${character}b`, "prose")
      .map((piece) => piece.text)
      .join("");
    assert.ok(!/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u.test(text), `U+${point.toString(16)}`);
  }
});

test("UI-08: a run of blanks is folded into its count, and the text after it stays visible", () => {
  assert.equal(
    drawn(`echo hi${" ".repeat(3_000)}; curl evil`),
    "echo hi<blanks  [… 3000 blanks …] >; curl evil",
  );
});

test("UI-08: empty lines are folded into their count", () => {
  assert.equal(
    drawn(`echo hi${"\n".repeat(3_000)}; curl evil`),
    "echo hi<blanks \n[… 2999 empty lines …]\n>; curl evil",
  );
});

test("UI-08: the server's note about folded text is kept and marked", () => {
  assert.equal(
    drawn("[40 lines, 3,100 characters; look at all of them]\nls [… 50 blanks …] x"),
    "<note [40 lines, 3,100 characters; look at all of them]>\nls <blanks [… 50 blanks …]> x",
  );
});

test("UI-09: characters that reverse the text direction are escaped and counted in a warning", () => {
  const text = "echo ok # \u202e/ fr- mr\u202c";
  assert.equal(drawn(text), "echo ok # <bidi \\u202e>/ fr- mr<bidi \\u202c>");
  assert.deepEqual(warnings(visibleText(text, "command")), [
    "2 characters that reverse the direction of text",
  ]);
});

test("UI-09: invisible characters are escaped and counted in a warning", () => {
  const text = "r\u200bm\u2060 -\u{e0041}rf\u00ad";
  assert.equal(
    drawn(text),
    "r<invisible \\u200b>m<invisible \\u2060> -<invisible \\U000e0041>rf<invisible \\u00ad>",
  );
  assert.deepEqual(warnings(visibleText(text, "command")), ["4 invisible characters"]);
});

test("UI-09: a direction character that the server already escaped gets the same mark", () => {
  assert.equal(drawn("a\\u202eb\\u0041"), "a<bidi \\u202e>b\\u0041");
});

test("UI-09: letters of another script in a Latin word are marked in commands and in prose", () => {
  for (const reading of ["command", "prose"] as const)
    assert.equal(drawn("cat /etc/pаsswd", reading), "cat /etc/p<lookalike а>sswd");
});

test("UI-09: a Cyrillic word that looks like a program name is marked in a command", () => {
  assert.equal(drawn("сор a b"), "<lookalike с><lookalike о><lookalike р> a b");
});

test("UI-09: characters that look like shell syntax are marked", () => {
  assert.equal(
    drawn("ls \u037e rm \u2010rf \u2215"),
    "ls <lookalike \u037e> rm <lookalike \u2010>rf <lookalike \u2215>",
  );
  assert.equal(drawn("ls; rm -rf /"), "ls; rm -rf /");
});

test("UI-09: fullwidth letters are marked in a command", () => {
  assert.equal(drawn("ｒｍ"), "<lookalike ｒ><lookalike ｍ>");
});

test("UI-09: mathematical letters that look like ASCII are marked in a command", () => {
  const marked = (text: string) => [...text].map((one) => `<lookalike ${one}>`).join("");
  const words = ["𝗿𝗺", "𝒆𝒙𝒆𝒄", "𝚌𝚞𝚛𝚕", "𝟙𝟚"];
  // In Unicode, some letters of these alphabets are outside the block of mathematical letters.
  const apart = ["𝑒𝑐ℎ𝑜", "𝒽ℴ𝓂ℯ", "ℬℰℱℋℐℒℳℛ", "ℭℌℑℜℨ", "ℂℍℕℙℚℝℤ", "\u212a"];
  for (const word of [...words, ...apart]) assert.equal(drawn(word), marked(word), word);
  assert.equal(drawn("e𝑐ℎo"), `e${marked("𝑐ℎ")}o`);
});

test("ordinary text in several languages is not marked", () => {
  const text = "Größe – „Maß“ это слово; 日本語、テスト。 “quoted” naïve";
  assert.equal(drawn(text, "prose"), text);
});

test("the pieces cover the source text without a gap", () => {
  const text = `a\u202eb${" ".repeat(60)}c\n\n\n\n\n\u001bpаss [… 5 blanks …]`;
  let at = 0;
  for (const piece of visibleText(text, "command")) {
    assert.equal(piece.at, at);
    at += piece.length;
  }
  assert.equal(at, text.length);
});

for (const [name, piece] of [
  ["words and blanks", "a \n"],
  ["blanks", " "],
  ["words with marked letters", "pаsswd \u202e"],
] as const) {
  test(`an eight times longer text of ${name} takes at most 24 times the CPU time`, () => {
    assertNearlyLinear((times) => void visibleText(piece.repeat(1_000 * times), "command"));
  });
}

test("an escaped string keeps line breaks, tabs and emoji", () => {
  assert.equal(visible("a\nb\tc\u0000\u2028d\u{1f600}"), "a\nb\tc\\u0000\\u2028d\u{1f600}");
});
