/** Code is coloured by the grammars and themes of the installed extensions. */
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { test } from "node:test";
import { catalogueOf } from "../../../../src/extension/colours/catalogue.ts";
import { Colourer } from "../../../../src/extension/colours/colourer.ts";
import { customRules } from "../../../../src/extension/colours/custom-rules.ts";
import { kindsOf } from "../../../../src/extension/colours/kinds.ts";
import { parseJsonWithComments } from "../../../../src/extension/colours/theme-file.ts";
import type { Coloured } from "../../../../src/shared/coloured.ts";

const GRAMMAR = {
  scopeName: "source.tiny",
  patterns: [
    { name: "keyword.control.tiny", match: "\\bfor\\b" },
    { name: "string.quoted.tiny", begin: '"', end: '"' },
  ],
};
const FILES: Readonly<Record<string, string>> = {
  "/tiny/tiny.json": JSON.stringify(GRAMMAR),
  "/themes/dark.json": `{ // a comment, as "VS Code" writes them
    "include": "./base.json",
    "tokenColors": [ { "scope": ["keyword.control"], "settings": { "foreground": "#c586c0" } }, ],
  }`,
  "/themes/base.json": `{ "tokenColors": [
    { "scope": "string", "settings": { "foreground": "#ce9178", "fontStyle": "italic" } },
    { "scope": "keyword", "settings": { "foreground": "#111111" } } ] }`,
  "/themes/old.tmTheme": `<?xml version="1.0"?><plist version="1.0"><dict><key>settings</key><array>
    <dict><key>settings</key><dict><key>foreground</key><string>#ffffff</string></dict></dict>
    <dict><key>scope</key><string>keyword</string><key>settings</key>
      <dict><key>foreground</key><string>#00FF00</string></dict></dict></array></dict></plist>`,
};
const INSTALLED = [
  {
    extensionPath: "/tiny",
    packageJSON: {
      contributes: {
        languages: [{ id: "tiny", aliases: ["Tiny Talk"], extensions: [".tny"] }],
        grammars: [{ language: "tiny", scopeName: "source.tiny", path: "./tiny.json" }],
      },
    },
  },
  {
    extensionPath: "/themes",
    packageJSON: {
      contributes: {
        themes: [
          { id: "Dark 2026", label: "Dark", path: "./dark.json" },
          { label: "Old", path: "./old.tmTheme" },
        ],
      },
    },
  },
  { extensionPath: "/odd", packageJSON: { contributes: { grammars: [null, {}], themes: "none" } } },
  { extensionPath: "/none", packageJSON: null },
];
const CODE = 'x for\n"for"';

async function read(path: string): Promise<string> {
  return FILES[path] ?? assert.fail(path);
}

function colourer(): Colourer {
  const wasm = "node_modules/vscode-oniguruma/release/onig.wasm";
  return new Colourer(
    catalogueOf(INSTALLED),
    read,
    async () => new Uint8Array(await readFile(wasm)).buffer,
  );
}

/** The coloured pieces as `text colour`, with a star for italic. */
function colouredPieces(code: string, coloured: Coloured | null): readonly string[] {
  let at = 0;
  const pieces: string[] = [];
  for (let index = 0; index < (coloured?.runs.length ?? 0); index += 2) {
    const end = at + (coloured?.runs[index] ?? 0);
    const style = coloured?.styles[coloured.runs[index + 1] ?? 0];
    const name = `${style?.colour}${style?.kind}`.toLowerCase();
    if (name !== "") pieces.push(`${code.slice(at, end)} ${name}${style?.italic ? "*" : ""}`);
    at = end;
  }
  assert.equal(at, code.length);
  return pieces;
}

test("code gets the colours of the editor's grammar and theme for each name of its language", async () => {
  const own = colourer();
  const theme = { name: "Dark 2026", rules: [] };
  const expected = ["for #c586c0", '"for" #ce9178*'];
  for (const language of ["tiny", "Tiny Talk", "tny", "TINY"])
    assert.deepEqual(
      colouredPieces(CODE, await own.colour(CODE, language, theme)),
      expected,
      language,
    );
});

test("another theme, also one in the tmTheme format, and the user's own rules change the colours", async () => {
  const own = colourer();
  const plain = await own.colour(CODE, "tiny", { name: "Old", rules: [] });
  assert.deepEqual(colouredPieces(CODE, plain), ["for #00ff00"]);
  const rules = customRules(
    { strings: "#123456", "[Dark*]": { keywords: { foreground: "#654321" } }, "[Old]": {} },
    "Dark 2026",
  );
  const changed = await own.colour(CODE, "tiny", { name: "Dark 2026", rules });
  assert.deepEqual(colouredPieces(CODE, changed), ["for #654321", '"for" #123456*']);
});

test("a theme or language that is not installed gives no colours, and kinds of tokens are the fallback", async () => {
  const own = colourer();
  assert.equal(await own.colour(CODE, "tiny", { name: "Elsewhere", rules: [] }), null);
  assert.equal(await own.colour(CODE, "unheard", { name: "Old", rules: [] }), null);
  const code = 'for x in "a<b": pass';
  assert.deepEqual(colouredPieces(code, kindsOf(code, "python")), [
    "for hljs-keyword",
    "in hljs-keyword",
    '"a<b" hljs-string',
    "pass hljs-keyword",
  ]);
  assert.equal(kindsOf(code, "unheard"), null);
});

test("comments and trailing commas in a theme file are ignored, but not inside strings", () => {
  const text = '{ "a": "// no, /* no */ ,]", /* yes */ "b": [1, 2, /* last */ ], // end\n }';
  assert.deepEqual(parseJsonWithComments(text), { a: "// no, /* no */ ,]", b: [1, 2] });
});
