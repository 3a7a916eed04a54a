/** Which documents the server hears of: what the user works on, and nothing that is only shown. */

const WORKED_ON: ReadonlySet<string> = new Set(["file", "untitled", "vscode-notebook-cell"]);

/** Is a document of this URI scheme work of the user's (not output, not one side of a diff)? */
export function isWork(scheme: string): boolean {
  return WORKED_ON.has(scheme);
}
