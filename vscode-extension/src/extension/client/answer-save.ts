/**
 * Answers `indwell/save`: saves the named documents with unsaved text, so that a command sees the
 * text.
 */
import * as vscode from "vscode";
import type { LanguageClient } from "vscode-languageclient/node";
import { openDocument } from "./problems.ts";

/** Registers the handler, which lasts as long as one server process. */
export function answerSave(client: LanguageClient): vscode.Disposable {
  return client.onRequest("indwell/save", async (asked: { readonly uris: readonly string[] }) => {
    const saved: string[] = [];
    for (const name of asked.uris) {
      const uri = client.protocol2CodeConverter.asUri(name);
      const notebook = vscode.workspace.notebookDocuments.find(
        (one) => one.uri.toString() === uri.toString(),
      );
      if (notebook !== undefined) {
        if (!notebook.isDirty || (await wasSaved(notebook))) saved.push(name);
        continue;
      }
      const document = openDocument(uri);
      // Saving an untitled document would ask the user for a name.
      if (document === undefined || document.isUntitled) continue;
      if (!document.isDirty || (await wasSaved(document))) saved.push(name);
    }
    return { saved };
  });
}

/**
 * Returns whether a document was saved; the editor itself reports a file that cannot be written
 * (read-only, changed on disk).
 */
async function wasSaved(document: vscode.TextDocument | vscode.NotebookDocument): Promise<boolean> {
  try {
    return await document.save();
  } catch {
    return false;
  }
}
