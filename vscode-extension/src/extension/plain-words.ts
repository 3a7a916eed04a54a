/**
 * Words of others, made plain for VS Code's own windows. Pure.
 *
 * Notifications, progress and prompts of input boxes draw `[words](command:…)` as a link that runs any
 * command at one click; status texts draw `$(name)` as an icon. Neither may come of a file's name, an
 * endpoint's error or a question's title.
 */
import { visible } from "../shared/visible.ts";

/** The same words, in which nothing hides and nothing is a link or an icon. */
export function plainWords(text: string): string {
  // A link needs `](`, an icon `$(`: a blank between ends both, and shows what stood there.
  return visible(text).replace(/[\]$](?=\()/g, (one) => `${one} `);
}

/** A progress of the server, in place: the client shows the object that it was given. */
export function makePlain(progress: { title?: unknown; message?: unknown }): void {
  if (typeof progress.title === "string") progress.title = plainWords(progress.title);
  if (typeof progress.message === "string") progress.message = plainWords(progress.message);
}
