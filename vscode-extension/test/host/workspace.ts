/** Opens documents of the tests' workspace. */
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import * as vscode from "vscode";

/** Returns the URI of a file in the workspace. */
export function file(path: string): vscode.Uri {
  const root = vscode.workspace.workspaceFolders?.[0]?.uri;
  if (root === undefined) throw new Error("no folder is open");
  return vscode.Uri.joinPath(root, path);
}

/** Writes a file and shows it; each test has its own files. */
export async function openNew(path: string, text: string): Promise<vscode.TextEditor> {
  const uri = file(path);
  mkdirSync(dirname(uri.fsPath), { recursive: true });
  writeFileSync(uri.fsPath, text);
  return vscode.window.showTextDocument(await vscode.workspace.openTextDocument(uri));
}
