/** The server's messages stand behind a name and a colon elsewhere; here they stand alone. Pure. */

/** With a capital letter and an end, and without the marks that only Markdown and terminals know. */
export function plainSentence(words: string): string {
  const plain = words.trim().replace(/`([^`\n]*)`/g, "$1");
  // A path, a method or a name of the user's own stays as it is written.
  const isWord = /^[a-z]+[ ,]/.test(plain);
  const begun = isWord ? `${plain.charAt(0).toUpperCase()}${plain.slice(1)}` : plain;
  return begun === "" || /[.!?…:]$/.test(begun) ? begun : `${begun}.`;
}
