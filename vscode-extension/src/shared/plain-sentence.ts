/** Turns the server's messages, which elsewhere follow a name and a colon, into sentences. Pure. */

/** Adds a capital letter and a full stop, and removes marks of Markdown and terminals. */
export function plainSentence(words: string): string {
  const plain = words.trim().replace(/`([^`\n]*)`/g, "$1");
  // A path, a method or a name of the user's own is unchanged.
  const isWord = /^[a-z]+[ ,]/.test(plain);
  const begun = isWord ? `${plain.charAt(0).toUpperCase()}${plain.slice(1)}` : plain;
  return begun === "" || /[.!?…:]$/.test(begun) ? begun : `${begun}.`;
}
