/**
 * Removes markup from other programs' text for VS Code's own windows. Pure. Notifications, progress
 * and prompts of input boxes draw `[words](command:…)` as a link that runs any command at one
 * click; status texts draw `$(name)` as an icon. A file's name, an endpoint's error or a question's
 * title must not be drawn as a link or an icon.
 */
import { visible } from "../shared/visible.ts";

/** Returns the text without hidden characters, links or icons. */
export function plainWords(text: string): string {
  // A link needs `](` and an icon `$(`; a blank between the two signs prevents both, and the text
  // stays visible.
  return visible(text).replace(/[\]$](?=\()/g, (one) => `${one} `);
}

/**
 * Removes markup from a progress message of the server. The object itself is changed, because the
 * client shows this object.
 */
export function makePlain(progress: { title?: unknown; message?: unknown }): void {
  if (typeof progress.title === "string") progress.title = plainWords(progress.title);
  if (typeof progress.message === "string") progress.message = plainWords(progress.message);
}
