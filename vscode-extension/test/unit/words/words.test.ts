/** Every text that users see is translated, in each language. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { afterEach, test } from "node:test";
import {
  hasSingular,
  LANGUAGES,
  readWords,
  type Texts,
  translations,
  wanted,
} from "../../../scripts/words.ts";
import { costFigure, durationFigure } from "../../../src/shared/figures.ts";
import { date, number, plural, speak, t } from "../../../src/shared/l10n.ts";
import { FOR_PROGRAMS, NOT_SHOWN } from "./not-shown.ts";

const words = readWords();
const holes = (text: string) =>
  [...new Set(text.match(/\{\d+\}|\$\(\w+\)|command:[\w.]+/g))].sort();

afterEach(() => speak(null));

for (const language of LANGUAGES) {
  test(`${language}: every text is translated, and no translation is left over`, () => {
    const known = Object.keys(translations(language));
    const need = new Set(wanted(words, language));
    assert.deepEqual(
      [...need].filter((text) => !known.includes(text)),
      [],
    );
    assert.deepEqual(
      known.filter((text) => !need.has(text)),
      [],
    );
  });

  test(`${language}: translations keep placeholders, line breaks and edges`, () => {
    const wrong = Object.entries(translations(language)).filter(
      ([text, to]) =>
        String(holes(text)) !== String(holes(to)) ||
        text.split("\n").length !== to.split("\n").length ||
        to.trim() !== to ||
        to === "",
    );
    assert.deepEqual(wrong, []);
  });
}

test("no visible text of a source bypasses the translation", () => {
  const allowed = new Set(Object.values(NOT_SHOWN).flat());
  const bare = words.bare.filter(({ file, text }) => !FOR_PROGRAMS.has(file) && !allowed.has(text));
  assert.deepEqual(bare, []);
  assert.deepEqual(words.unclear, []);
});

test("the list of texts that are not shown has no entry too many", () => {
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

test("each program sets its language before it loads any other module of ours", () => {
  for (const entry of [
    "src/extension/extension.ts",
    "src/extension/server/language-client.ts",
    "src/webview/main.tsx",
  ]) {
    const [first] = /^import .*$/m.exec(readFileSync(entry, "utf8")) ?? [""];
    assert.match(first, /^import "\.{1,2}\/language\.ts";$/, entry);
  }
});

test("a text is shown in the language, with values; without a translation, in English", () => {
  const bundle: Texts = { "Stop {0}": "{0} stoppen", "{0} files": "{0} Dateien" };
  assert.equal(t("Stop {0}", "pytest"), "Stop pytest");
  speak({ name: "de", bundle });
  assert.equal(t("Stop {0}", "{0} $& pytest"), "{0} $& pytest stoppen");
  assert.equal(t("Start {0}", 1234), "Start 1234");
  assert.equal(plural(1200, "{0} file", "{0} files"), "1.200 Dateien");
  assert.equal(plural(1, "{0} file", "{0} files"), "1 file");
});

test("one thing has its own form only in languages that have one", () => {
  assert.deepEqual(LANGUAGES.map(hasSingular), [true, false]);
  speak({ name: "zh-cn", bundle: { "{0} files": "{0} 个文件" } });
  assert.equal(plural(1, "{0} file", "{0} files"), "1 个文件");
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
  assert.deepEqual(all(), ["1.234,5", "0,04\u00a0$", "3,2 s", "2. Nov."]);
  speak({ name: "zh-cn", bundle: {} });
  assert.deepEqual(all(), ["1,234.5", "$0.04", "3.2 s", "11月2日"]);
});
