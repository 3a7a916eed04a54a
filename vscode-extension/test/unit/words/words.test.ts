/** Every text that users see is translated, in each language. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { afterEach, test } from "node:test";
import { manifestTexts } from "../../../build/shipped-words.ts";
import { LANGUAGES, type Texts, translations } from "../../../scripts/translations.ts";
import { hasSingular, readWords, wanted } from "../../../scripts/words.ts";
import { date, number, plural, shortKey, speak, t } from "../../../src/shared/l10n.ts";
import { CUT, REFUSED } from "../../../src/shared/state/turns.ts";
import { costFigure, durationFigure } from "../../../src/shared/words.ts";
import { FOR_PROGRAMS, NOT_SHOWN } from "./not-shown.ts";

const words = readWords();
const holes = (text: string) =>
  [...new Set(text.match(/\{\d+\}|\$\(\w+\)|command:[\w.]+|`[^`]+`/g))].sort();

afterEach(() => speak(null));

const manifest: readonly string[] = manifestTexts(JSON.parse(readFileSync("package.json", "utf8")));

for (const language of LANGUAGES) {
  test(`${language}: every text is translated, and no translation is left over`, () => {
    const parts = { code: wanted(words, language), manifest };
    for (const part of ["code", "manifest"] as const) {
      const known = translations(language, part);
      const need = new Set(parts[part]);
      assert.deepEqual(
        [...need].filter((text) => !(text in known)),
        [],
      );
      assert.deepEqual(
        Object.keys(known).filter((text) => !need.has(text)),
        [],
      );
    }
  });

  test(`${language}: translations keep placeholders, commands and line breaks, and have no outer blanks`, () => {
    const all = { ...translations(language, "code"), ...translations(language, "manifest") };
    const wrong = Object.entries(all).filter(
      ([text, to]) =>
        String(holes(text)) !== String(holes(to)) ||
        text.split("\n").length !== to.split("\n").length ||
        to.trim() !== to ||
        to === "",
    );
    assert.deepEqual(wrong, []);
  });
}

test("each text has a short key of its own, and no key equals a text", () => {
  const texts = [...words.keys.keys()];
  const names = new Set(texts.map(shortKey));
  assert.equal(names.size, texts.length);
  assert.deepEqual(
    texts.filter((text) => names.has(text)),
    [],
  );
  speak({ name: "de", bundle: { [shortKey("Stop {0}")]: "{0} stoppen" } });
  assert.equal(t("Stop {0}", "pytest"), "pytest stoppen");
});

test("no visible text in the source bypasses the translation", () => {
  const allowed = new Set(Object.values(NOT_SHOWN).flat());
  const bare = words.bare.filter(({ file, text }) => !FOR_PROGRAMS.has(file) && !allowed.has(text));
  assert.deepEqual(bare, []);
  assert.deepEqual(words.unclear, []);
});

test("the list of texts that are not shown has no unused entry", () => {
  const found = new Set(words.bare.map(({ text }) => text));
  const files = new Set(words.bare.map(({ file }) => file));
  assert.deepEqual(
    Object.values(NOT_SHOWN)
      .flat()
      .filter((text) => !found.has(text)),
    [],
  );
  assert.deepEqual(
    [...FOR_PROGRAMS].filter((file) => !files.has(file)),
    [],
  );
});

test("each entry point imports its language module first", () => {
  for (const entry of [
    "src/extension/extension.ts",
    "src/extension/server/language-client.ts",
    "src/webview/main.tsx",
  ]) {
    const [first] = /^import .*$/m.exec(readFileSync(entry, "utf8")) ?? [""];
    assert.match(first, /^import "\.{1,2}\/(?:host\/)?language\.ts";$/, entry);
  }
});

test("a text is translated with its values, and stays English without a translation", () => {
  const bundle: Texts = { "Stop {0}": "{0} stoppen", "{0} files": "{0} Dateien" };
  assert.equal(t("Stop {0}", "pytest"), "Stop pytest");
  speak({ name: "de", bundle });
  assert.equal(t("Stop {0}", "{0} $& pytest"), "{0} $& pytest stoppen");
  assert.equal(t("Start {0}", 1234), "Start 1234");
  assert.equal(plural(1200, "{0} file", "{0} files"), "1.200 Dateien");
  assert.equal(plural(1, "{0} file", "{0} files"), "1 file");
});

test("the singular form is used only in languages that have one", () => {
  assert.deepEqual(LANGUAGES.map(hasSingular), [true, false]);
  speak({ name: "zh-cn", bundle: { "{0} files": "{0} 个文件" } });
  assert.equal(plural(1, "{0} file", "{0} files"), "1 个文件");
});

test("the panel has the server's translations, and texts that the panel parses stay English", () => {
  const read = ["not sandboxed", "outside the sandbox"];
  for (const language of LANGUAGES) {
    const name = language === "zh-cn" ? "zh" : language;
    const path = `../server/indwell/languages/${name}.json`;
    const server: Texts = JSON.parse(readFileSync(path, "utf8"));
    const ours = translations(language, "code");
    assert.deepEqual(
      read.map((text) => ours[text]),
      read.map((text) => server[text]),
    );
    const inSession = server["In the session “{title}”: {words}"] ?? "";
    assert.ok(inSession.startsWith(ours["In the session"] ?? "?"));
    assert.equal(
      ours["; this one: {0}"],
      `; ${(server["this one: {words}"] ?? "").replace("{words}", "{0}")}`,
    );
    const matched = [...REFUSED, ...CUT, "forked from session "];
    assert.deepEqual(
      Object.keys(server).filter((text) => matched.some((begin) => text.startsWith(begin))),
      [],
      "src/shared reads these texts in English",
    );
  }
});

test("numbers, money, times and dates follow the language", () => {
  const at = new Date(2026, 10, 2, 14, 5);
  const all = () => [
    number(1234.5),
    costFigure(0.04),
    durationFigure(3.21),
    date(at, { day: "numeric", month: "short" }),
  ];
  assert.deepEqual(all(), ["1,234.5", "$0.04", "3.2 s", "Nov 2"]);
  speak({ name: "de", bundle: {} });
  assert.deepEqual(all(), ["1.234,5", "0,04 $", "3,2 s", "2. Nov."]);
  speak({ name: "zh-cn", bundle: {} });
  assert.deepEqual(all(), ["1,234.5", "$0.04", "3.2 s", "11月2日"]);
});
