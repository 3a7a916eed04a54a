/** How the server names a file or folder: from the first folder of the workspace. */
import * as vscode from "vscode";
import { mentionPath, nameOf } from "../../editor/attach/mention.ts";

/** The path that goes into a mention; null for what is in no open folder. */
export function mentionOf(uri: vscode.Uri): string | null {
  if (uri.scheme !== "file" || vscode.workspace.getWorkspaceFolder(uri) === undefined) return null;
  const first = vscode.workspace.workspaceFolders?.[0]?.uri.path ?? null;
  return mentionPath(uri.path, first);
}

/** Mentions for dropped URIs, in their order; what is outside, or not there, is left out. */
export async function mentionsOf(
  uris: readonly string[],
): Promise<readonly { readonly value: string; readonly label: string }[]> {
  const found = await Promise.all(uris.map(mention));
  return found.flatMap((one) => (one === null ? [] : [one]));
}

async function mention(raw: string): Promise<{ value: string; label: string } | null> {
  try {
    const uri = raw.startsWith("/") ? vscode.Uri.file(raw) : vscode.Uri.parse(raw, true);
    const path = mentionOf(uri);
    if (path === null) return null;
    const { type } = await vscode.workspace.fs.stat(uri);
    const isFolder = (type & vscode.FileType.Directory) !== 0;
    return { value: isFolder ? `${path}/` : path, label: nameOf(path) + (isFolder ? "/" : "") };
  } catch {
    return null;
  }
}
