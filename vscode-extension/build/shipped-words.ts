/**
 * Makes the texts of a package small: `node build/shipped-words.ts FOLDER`, run in the extension's
 * folder, rewrites `package.json` and `l10n/` of a package that is being built.
 *
 * The texts of `package.json` move to `package.nls.json`, from which VS Code takes them in its own
 * language, and the bundles of the code get short keys.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { LANGUAGES, type Texts, translations } from "../scripts/translations.ts";
import { shortKey } from "../src/shared/l10n.ts";

/** Fields of `package.json` with a text that VS Code shows. */
const FIELDS = new Set([
  "title",
  "description",
  "markdownDescription",
  "displayName",
  "label",
  "name",
  "altText",
  "enumDescriptions",
  "enumItemLabels",
]);

/** Texts that are the same in every language: our name, and the names of modes. */
const SAME = new Set(["Indwell", "indwell", "plan", "ask", "review", "auto"]);

/** Replaces each text of a manifest that VS Code shows, and returns the changed copy. */
export function withTexts(manifest: unknown, replace: (text: string) => string): unknown {
  const visit = (value: unknown, field: string): unknown => {
    if (typeof value === "string") {
      return FIELDS.has(field) && !SAME.has(value) && value !== "" ? replace(value) : value;
    }
    if (Array.isArray(value)) return value.map((one) => visit(one, field));
    if (typeof value !== "object" || value === null) return value;
    // The name of a field counts only for its own value, and for lists of texts.
    return Object.fromEntries(
      Object.entries(value).map(([name, inner]) => [name, visit(inner, name)]),
    );
  };
  return visit(manifest, "");
}

/** Returns the texts of a manifest, each once. */
export function manifestTexts(manifest: unknown): readonly string[] {
  const found = new Set<string>();
  withTexts(manifest, (text) => {
    found.add(text);
    return text;
  });
  return [...found];
}

function write(path: string, content: unknown): void {
  writeFileSync(path, JSON.stringify(content));
}

function ship(folder: string): void {
  const path = join(folder, "package.json");
  const manifest: unknown = JSON.parse(readFileSync(path, "utf8"));
  const texts = manifestTexts(manifest);
  const keys = new Map(texts.map((text, index) => [text, index.toString(36)]));
  write(
    path,
    withTexts(manifest, (text) => `%${keys.get(text) ?? ""}%`),
  );
  const named = (known: Texts) =>
    Object.fromEntries(texts.map((text, index) => [index.toString(36), known[text] ?? text]));
  write(join(folder, "package.nls.json"), named({}));
  for (const language of LANGUAGES) {
    write(join(folder, `package.nls.${language}.json`), named(translations(language, "manifest")));
    const code = Object.entries(translations(language, "code"));
    // Texts that begin alike stand together, where compression finds them.
    const short = code
      .sort(([, left], [, right]) => (left < right ? -1 : 1))
      .map(([text, to]) => [shortKey(text), to]);
    write(join(folder, "l10n", `bundle.l10n.${language}.json`), Object.fromEntries(short));
  }
}

const [, script, folder] = process.argv;
if (script?.endsWith("shipped-words.ts") && folder !== undefined) ship(folder);
