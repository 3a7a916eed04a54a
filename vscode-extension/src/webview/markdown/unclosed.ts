/**
 * Closes code and bold text at the end of growing Markdown, so that no formatting signs are visible
 * while text arrives. Pure.
 */

interface Opened {
  readonly sign: string;
  readonly at: number;
}

/**
 * Closes code and bold text that the last paragraph opened and has not closed yet. A formatting
 * sign at the very end is left out until text follows.
 */
export function withEndClosed(text: string): string {
  const from = text.lastIndexOf("\n\n") + 1;
  let code: Opened | null = null;
  let strong: Opened | null = null;
  for (const { 0: sign, index } of text.slice(from).matchAll(/`+|\*\*|\\[`*]/g)) {
    const found = { sign, at: from + index };
    if (code !== null) code = sign === code.sign ? null : code;
    else if (sign.startsWith("`")) code = found;
    else if (sign === "**") strong = strong === null ? found : null;
  }
  const inner = code === null ? text : closed(text, code);
  return strong === null ? inner : closed(inner, strong);
}

function closed(text: string, { sign, at }: Opened): string {
  const words = text.slice(at + sign.length);
  if (words.trim() === "") return text.slice(0, at).trimEnd();
  // Bold text may not end in a blank.
  return sign === "**" ? `${text.trimEnd()}${sign}` : `${text}${sign}`;
}
