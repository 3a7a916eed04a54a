/** What is marked in the terminal. VS Code hands it out through the clipboard only, which is put back. */
import * as vscode from "vscode";
import { askModal } from "../../say.ts";

/** The text, or null where nothing is marked or the user does not want it. */
export async function terminalSelection(): Promise<string | null> {
  if (vscode.window.activeTerminal === undefined) return null;
  const before = await vscode.env.clipboard.readText();
  // No text may mean a picture, which cannot be put back: that is the user's to give up.
  if (before === "" && !(await mayReplace())) return null;
  const mark = `indwell ${Date.now()} ${Math.random()}`;
  if (before !== "") await vscode.env.clipboard.writeText(mark);
  try {
    await vscode.commands.executeCommand("workbench.action.terminal.copySelection");
    const copied = await vscode.env.clipboard.readText();
    return copied === mark || copied.trim() === "" ? null : copied;
  } finally {
    if (before !== "") await vscode.env.clipboard.writeText(before);
  }
}

async function mayReplace(): Promise<boolean> {
  const chosen = await askModal(
    "The clipboard holds no text, or a picture. Adding the terminal's selection replaces it.",
    "",
    [{ title: "Copy and Add" }],
  );
  return chosen !== undefined;
}
