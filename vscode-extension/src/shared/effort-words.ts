/** Labels for the reasoning effort. Pure. */
import { t } from "./l10n.ts";

/** The effort that lets the model decide how much it thinks. */
export const AUTO = "auto";

const WORDS: Readonly<Record<string, string>> = {
  auto: t("The model decides"),
  none: t("It answers at once"),
  minimal: t("Hardly any thinking"),
  low: t("Little thinking: faster and cheaper"),
  medium: t("As much thinking as usual"),
  high: t("Much thinking, for hard work"),
  xhigh: t("Very much thinking: slow and expensive"),
  max: t("As much thinking as possible: slowest and most expensive"),
};

/** Returns the meaning of an effort, or empty for an effort that this version does not know. */
export function effortWords(effort: string): string {
  return WORDS[effort] ?? "";
}
