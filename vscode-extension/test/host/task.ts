/** Starts turns without the panel. */
import assert from "node:assert/strict";
import * as vscode from "vscode";

/** Runs a command of the server for the first line of an editor, and waits until its turn has ended. */
export async function taskAt(
  command: string,
  editor: vscode.TextEditor,
  text: string,
): Promise<void> {
  const range = { start: { line: 0, character: 0 }, end: { line: 0, character: 0 } };
  const given = { uri: editor.document.uri.toString(), range, text, wait: true };
  const result = await vscode.commands.executeCommand<{
    readonly ending?: string;
    readonly message?: string;
  } | null>(command, given);
  assert.equal(result?.ending, "done", result?.message ?? "no turn was started");
}
