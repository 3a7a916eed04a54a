/**
 * Converts messages of the server to sentences; elsewhere, these messages follow a name and a
 * colon. Pure.
 */

/** Adds a capital letter and a full stop, and removes marks of Markdown and terminals. */
export function plainSentence(words: string): string {
  const plain = words.trim().replace(/`([^`\n]*)`/g, "$1");
  // Only an ordinary word gets a capital letter; a path, a method or another name is unchanged.
  const isWord = /^[a-z]+[ ,]/.test(plain);
  const begun = isWord ? `${plain.charAt(0).toUpperCase()}${plain.slice(1)}` : plain;
  return begun === "" || /[.!?…:]$/.test(begun) ? begun : `${begun}.`;
}
