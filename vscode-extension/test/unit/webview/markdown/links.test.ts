import assert from "node:assert/strict";
import { test } from "node:test";
import { hides, runs } from "../../../../src/webview/markdown/invisible.ts";
import { fileReference, linkTarget, readFence } from "../../../../src/webview/markdown/links.ts";
import { parseBlocks } from "../../../../src/webview/markdown/parser.ts";

const FILES: readonly (readonly [string, string | null])[] = [
  ["src/a.py", "src/a.py"],
  ["./src/a.py", "src/a.py"],
  ["a.py:12", "a.py:12"],
  ["a.py:12-20", "a.py:12-20"],
  ["a.py:12:5", "a.py:12"],
  ["a.py#L3", "a.py:3"],
  ["a.py#L3-L9", "a.py:3-9"],
  ["a.py#L3-9", "a.py:3-9"],
  ["src/[id]/page.tsx", "src/[id]/page.tsx"],
  ["Makefile", "Makefile"],
  ["naïve/größe.ts", "naïve/größe.ts"],
  ["self.total", null],
  ["round(x, 2)", null],
  ["1.5", null],
  ["../etc/passwd.txt", null],
  ["/etc/passwd.txt", null],
  ["C:\\a.py", null],
  ["a\u202e.py", null],
  ["https://x.test/a.py", null],
  ["", null],
];

for (const [words, target] of FILES) {
  test(`${JSON.stringify(words)} is ${target === null ? "not a file reference" : `a reference to ${target}`}`, () => {
    assert.equal(fileReference(words), target);
  });
}

test("ui_02 only https addresses and workspace files become links", () => {
  assert.deepEqual(linkTarget("https://docs.python.org/3/"), {
    kind: "web",
    href: "https://docs.python.org/3/",
  });
  assert.deepEqual(linkTarget("src/a.py#L3"), { kind: "file", target: "src/a.py:3" });
  const refused = [
    "http://x.test",
    "javascript:1",
    "command:x",
    "vscode://x",
    "file:///x",
    "data:text/html,x",
    "//x.test/a.py",
  ];
  const tricks = [
    "https://a@x.test",
    "https://x.test/%E2%80%AE",
    "https://",
    "mailto:a@x.test",
    "#here",
    "",
    "%",
  ];
  for (const href of [...refused, ...tricks]) assert.equal(linkTarget(href), null, href);
});

test("an image becomes a text link, and an image with a refused address stays text", () => {
  const html = (text: string) =>
    parseBlocks(text)
      .map((block) => (block.kind === "prose" ? block.html : ""))
      .join("");
  assert.match(html("![logo](https://x.test/a.png)"), /^<p><a class="md-web" [^>]*>logo<\/a><\/p>/);
  assert.equal(
    html("![logo](data:image/png;base64,AA)"),
    "<p>![logo](data:image/png;base64,AA)</p>\n",
  );
});

test("a zero-width joiner stays in prose but hides text in a name, and a direction character is escaped in prose", () => {
  assert.deepEqual(runs("a\u200db", "prose"), [{ text: "a\u200db", hidden: false }]);
  assert.equal(hides("a\u200db"), true);
  assert.deepEqual(
    runs("a\u202eb", "prose").map((run) => run.text),
    ["a", "U+202E", "b"],
  );
});

test("a code fence gives its language and its file", () => {
  assert.deepEqual(readFence("python"), { language: "python", target: null });
  assert.deepEqual(readFence("python src/a.py"), { language: "python", target: "src/a.py" });
  assert.deepEqual(readFence("ts:src/a.ts"), { language: "ts", target: "src/a.ts" });
  assert.deepEqual(readFence('py title="a.py"'), { language: "py", target: "a.py" });
  assert.deepEqual(readFence("a.py"), { language: "py", target: "a.py" });
  assert.deepEqual(readFence("c++"), { language: "c++", target: null });
  assert.deepEqual(readFence("python ../../x.py"), { language: "python", target: null });
  assert.deepEqual(readFence(""), { language: "", target: null });
});
