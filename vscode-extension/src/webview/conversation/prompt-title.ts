/** Whether the title of a prompt says more than its words: that of a code action. Pure. */

/** As the server makes the title of the user's own words (`title_of`). */
const READ = 1000;
const LENGTH = 60;

/** Is it the prompt of a code action, such as *Fix this*? Its words are Indwell's, not the user's. */
export function isTask(words: string, title: string): boolean {
  if (title === "" || words === "" || words.startsWith("/")) return false;
  const own = [...words.trimStart().slice(0, READ).split(/\s+/).join(" ")]
    .slice(0, LENGTH)
    .join("");
  return own.trim() !== title.trim();
}
