/**
 * Reads the selection in the editor, to attach it: lines of a file, or a text that is not on disk.
 */
import * as vscode from "vscode";
import { boundedText, linesMention, type Mention, mentionPath, nameOf } from "./mention.ts";

/** A mention of lines, or the text itself. */
export type Selected =
  | ({ readonly kind: "mention" } & Mention)
  | { readonly kind: "text"; readonly label: string; readonly text: string };

/** Returns the selection of the active editor, or null if nothing is selected. */
export function selected(): Selected | null {
  const editor = vscode.window.activeTextEditor;
  if (editor === undefined || editor.selection.isEmpty) return null;
  const { document, selection } = editor;
  if (document.uri.scheme !== "file") {
    const text = boundedText(document.getText(selection));
    return { kind: "text", label: nameOf(document.uri.path), text };
  }
  const { start, end } = selection;
  const path = relativePath(document.uri);
  return { kind: "mention", ...linesMention(path, start.line, end.line, end.character) };
}

/** Returns a file's path relative to the first folder, as the server names files. */
export function relativePath(uri: vscode.Uri): string {
  const folder = vscode.workspace.workspaceFolders?.[0]?.uri;
  return mentionPath(uri.path, folder?.scheme === "file" ? folder.path : null);
}
