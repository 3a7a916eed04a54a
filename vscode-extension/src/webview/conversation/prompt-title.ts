/** Recognises prompts of code actions, whose title says more than their text. Pure. */

/** The server makes a title from this many characters of the user's own text (`title_of`). */
const READ = 1000;
const LENGTH = 60;

/**
 * Returns whether a prompt is that of a code action, such as *Fix this*, so that its text is
 * Indwell's, not the user's.
 */
export function isTask(words: string, title: string): boolean {
  if (title === "" || words === "" || words.startsWith("/")) return false;
  const own = [...words.trimStart().slice(0, READ).split(/\s+/).join(" ")]
    .slice(0, LENGTH)
    .join("");
  return own.trim() !== title.trim();
}
