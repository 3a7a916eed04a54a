/** The workspace that the tests have open, and its documents. */
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import * as vscode from "vscode";

/** Address of a file of the workspace. */
export function file(path: string): vscode.Uri {
  const root = vscode.workspace.workspaceFolders?.[0]?.uri;
  if (root === undefined) throw new Error("no folder is open");
  return vscode.Uri.joinPath(root, path);
}

/** Write a file and show it; each test has files of its own. */
export async function openNew(path: string, text: string): Promise<vscode.TextEditor> {
  const uri = file(path);
  mkdirSync(dirname(uri.fsPath), { recursive: true });
  writeFileSync(uri.fsPath, text);
  return vscode.window.showTextDocument(await vscode.workspace.openTextDocument(uri));
}
