/** Draws boxes in place of the brackets of task lists, `- [ ]` and `- [x]`. */
import type { Token } from "markdown-it";

const TASK = /^\[([ xX])\] /;

/**
 * Changes the tokens of a text. The boxes are plain characters, so the sanitiser needs no
 * exception.
 */
export function markTasks(tokens: readonly Token[]): void {
  for (const [at, token] of tokens.entries()) {
    const first = token.children?.[0];
    if (tokens[at - 2]?.type !== "list_item_open" || first?.type !== "text") continue;
    const isDone = TASK.exec(first.content)?.[1]?.trim() !== "";
    first.content = first.content.replace(TASK, isDone ? "☑ " : "☐ ");
  }
}
