/** Chooses the documents that are sent to the server: those that the user works on, not those only shown. */

const WORKED_ON: ReadonlySet<string> = new Set(["file", "untitled", "vscode-notebook-cell"]);

/**
 * Returns whether a document of this URI scheme is the user's work (not output, not one side of a
 * diff).
 */
export function isWork(scheme: string): boolean {
  return WORKED_ON.has(scheme);
}
