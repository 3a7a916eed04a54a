/**
 * Converts output of programs to plain text: removes terminal colours, and keeps only the final
 * form of a line that was overwritten. Pure.
 */

const ORDERS =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these characters are removed
  /\u001b(?:\[[0-?]*[ -/]*[@-~]|\][^\u0007\u001b]*(?:\u0007|\u001b\\)|[@-Z\\-_])/g;

/**
 * Returns at most `most` characters from the end, and the number of characters that were left out
 * before them.
 */
export function readable(
  text: string,
  most: number,
): { readonly text: string; readonly cut: number } {
  const cut = Math.max(0, text.length - most);
  const kept = text.slice(cut).replace(ORDERS, "").replace(/\r\n/g, "\n");
  const lines = kept.split("\n").map(overwritten);
  return { text: lines.join("\n").replace(/\n+$/, ""), cut };
}

/** Returns the last version of a line, because a progress bar overwrites its line many times. */
function overwritten(line: string): string {
  if (!line.includes("\r")) return line;
  return line.split("\r").findLast((piece) => piece !== "") ?? "";
}
