/** Names a file or folder as the server does: relative to the workspace's first folder. */
import * as vscode from "vscode";
import { mentionPath, nameOf } from "../../editor/attach/mention.ts";

/** Returns the path for a mention, or null for a file outside of all open folders. */
export function mentionOf(uri: vscode.Uri): string | null {
  if (uri.scheme !== "file" || vscode.workspace.getWorkspaceFolder(uri) === undefined) return null;
  const first = vscode.workspace.workspaceFolders?.[0]?.uri.path ?? null;
  return mentionPath(uri.path, first);
}

/** Returns mentions for dropped URIs, in order, without files that are outside or missing. */
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
