/**
 * Reads the selection in the terminal, which VS Code gives only through the clipboard; the
 * clipboard is restored.
 */

import * as vscode from "vscode";
import { t } from "../../../shared/l10n.ts";
import { askModal } from "../../say.ts";

/** Returns the text, or null if nothing is selected or the user declines. */
export async function terminalSelection(): Promise<string | null> {
  if (vscode.window.activeTerminal === undefined) return null;
  const before = await vscode.env.clipboard.readText();
  // A clipboard without text may contain a picture, which cannot be restored, so the user decides.
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
    t("The clipboard holds no text, or a picture. Adding the terminal's selection replaces it."),
    "",
    [{ title: t("Copy and Add") }],
  );
  return chosen !== undefined;
}
