/**
 * Chooses the documents that are sent to the server: documents that the user works on, and not only
 * looks at.
 */

const WORKED_ON: ReadonlySet<string> = new Set(["file", "untitled", "vscode-notebook-cell"]);

/**
 * Returns whether a document of this URI scheme is the user's work, and not the output of a program
 * or one side of a diff.
 */
export function isWork(scheme: string): boolean {
  return WORKED_ON.has(scheme);
}
