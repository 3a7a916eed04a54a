/** Restores the file shop/invoice.py, which an earlier test may have changed. */
import * as vscode from "vscode";
import { INVOICE } from "../editor/shop-files.ts";
import { openNew } from "./workspace.ts";

/** Shows the file with its original text, saved. */
export async function cleanFile(): Promise<vscode.TextEditor> {
  const editor = await openNew("shop/invoice.py", INVOICE);
  const { document } = editor;
  if (document.getText() !== INVOICE) {
    const all = new vscode.Range(0, 0, document.lineCount, 0);
    await editor.edit((builder) => builder.replace(all, INVOICE));
  }
  if (document.isDirty) await document.save();
  return editor;
}
