/** Output of programs as plain text: without the colours of terminals, overwritten lines as they end. Pure. */

const ORDERS =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what is taken out
  /\u001b(?:\[[0-?]*[ -/]*[@-~]|\][^\u0007\u001b]*(?:\u0007|\u001b\\)|[@-Z\\-_])/g;

/** At most `most` characters from the end, and how many are left out before. */
export function readable(
  text: string,
  most: number,
): { readonly text: string; readonly cut: number } {
  const cut = Math.max(0, text.length - most);
  const kept = text.slice(cut).replace(ORDERS, "").replace(/\r\n/g, "\n");
  const lines = kept.split("\n").map(overwritten);
  return { text: lines.join("\n").replace(/\n+$/, ""), cut };
}

/** A progress bar writes its line again and again: only what stands there at last is shown. */
function overwritten(line: string): string {
  if (!line.includes("\r")) return line;
  return line.split("\r").findLast((piece) => piece !== "") ?? "";
}
