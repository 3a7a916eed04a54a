/** Labels for the reasoning effort. Pure. */

/** The effort that lets the model decide how much it thinks. */
export const AUTO = "auto";

const WORDS: Readonly<Record<string, string>> = {
  auto: "The model decides",
  none: "It answers at once",
  minimal: "Hardly any thinking",
  low: "Little thinking: faster and cheaper",
  medium: "As much thinking as usual",
  high: "Much thinking, for hard work",
  xhigh: "Very much thinking: slow and expensive",
  max: "As much thinking as possible: slowest and most expensive",
};

/** Returns the meaning of an effort, or empty for an effort that this version does not know. */
export function effortWords(effort: string): string {
  return WORDS[effort] ?? "";
}
