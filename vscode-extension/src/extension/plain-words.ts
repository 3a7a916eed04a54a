/**
 * Removes markup from other programs' text for VS Code's own windows. Pure. Notifications, progress
 * and prompts of input boxes draw `[words](command:…)` as a link that runs any command at one
 * click; status texts draw `$(name)` as an icon. Neither may come from a file's name, an endpoint's
 * error or a question's title.
 */
import { visible } from "../shared/visible.ts";

/** Returns the text without hidden characters, links or icons. */
export function plainWords(text: string): string {
  // A link needs `](`, an icon `$(`: a blank in between prevents both, and keeps the text visible.
  return visible(text).replace(/[\]$](?=\()/g, (one) => `${one} `);
}

/**
 * Removes markup from a progress message of the server, in place: the client shows this same
 * object.
 */
export function makePlain(progress: { title?: unknown; message?: unknown }): void {
  if (typeof progress.title === "string") progress.title = plainWords(progress.title);
  if (typeof progress.message === "string") progress.message = plainWords(progress.message);
}
