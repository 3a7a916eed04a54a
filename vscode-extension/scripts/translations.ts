/** The translations of this extension, which scripts and tests read in the extension's folder. */
import { readFileSync } from "node:fs";

/** The languages besides English, as VS Code names them. */
export const LANGUAGES = ["de", "zh-cn"] as const;

/** The texts of one language: English text to translated text. */
export type Texts = Readonly<Record<string, string>>;

/** Reads the translations of the code, or those of the texts in `package.json`. */
export function translations(
  language: (typeof LANGUAGES)[number],
  part: "code" | "manifest",
): Texts {
  const name = part === "code" ? `bundle.l10n.${language}` : `manifest.${language}`;
  return JSON.parse(readFileSync(`l10n/${name}.json`, "utf8"));
}
