/** Estimates the tokens of a text. Pure. */

/**
 * Estimates tokens as the server does: 4 ASCII characters make 1 token, any other character 1.5.
 */
export function estimatedTokens(text: string): number {
  let ascii = 0;
  let others = 0;
  for (const character of text) {
    if (character.charCodeAt(0) < 128) ascii += 1;
    else others += 1;
  }
  return Math.ceil(ascii / 4 + others * 1.5);
}
