/** Answers `indwell/save`: saves the named documents that hold unsaved text, so that a command sees it. */
import type * as vscode from "vscode";
import type { LanguageClient } from "vscode-languageclient/node";
import { openDocument } from "./watch-problems.ts";

/** For the life of one server process. */
export function answerSave(client: LanguageClient): vscode.Disposable {
  return client.onRequest("indwell/save", async (asked: { readonly uris: readonly string[] }) => {
    const saved: string[] = [];
    for (const name of asked.uris) {
      const document = openDocument(client.protocol2CodeConverter.asUri(name));
      // Saving an untitled document would ask the user for a name.
      if (document === undefined || document.isUntitled) continue;
      if (!document.isDirty || (await wasSaved(document))) saved.push(name);
    }
    return { saved };
  });
}

/** A file that cannot be written (read-only, changed on disk) is told by the editor itself. */
async function wasSaved(document: vscode.TextDocument): Promise<boolean> {
  try {
    return await document.save();
  } catch {
    return false;
  }
}
