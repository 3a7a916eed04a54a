import assert from "node:assert/strict";
import * as vscode from "vscode";
import { INVOICE, SHOP } from "../editor/shop-files.ts";
import { cleanFile } from "./clean-file.ts";
import { taskAt } from "./task.ts";
import { file } from "./workspace.ts";

const PYTHON = { scheme: "file", pattern: "**/*.py" };
const FILES = ["shop/invoice.py", "tests/test_invoice.py"];

/** The ranges of a word in a document. */
function placesOf(document: vscode.TextDocument, word: string): readonly vscode.Range[] {
  return [...document.getText().matchAll(new RegExp(`\\b${word}\\b`, "g"))].map(
    (one) =>
      new vscode.Range(
        document.positionAt(one.index),
        document.positionAt(one.index + word.length),
      ),
  );
}

/** Registers providers like those of a Python extension, which find symbols by name. */
function languageFeatures(asked: string[]): vscode.Disposable {
  const wordAt = (document: vscode.TextDocument, at: vscode.Position): string =>
    document.getText(document.getWordRangeAtPosition(at));
  return vscode.Disposable.from(
    vscode.languages.registerDefinitionProvider(PYTHON, {
      provideDefinition: (document, at) => {
        asked.push(`definition of ${wordAt(document, at)} at ${at.line}:${at.character}`);
        return new vscode.Location(file("shop/invoice.py"), new vscode.Position(14, 4));
      },
    }),
    vscode.languages.registerRenameProvider(PYTHON, {
      provideRenameEdits: async (document, at, name) => {
        const word = wordAt(document, at);
        asked.push(`rename ${word} to ${name}`);
        const edit = new vscode.WorkspaceEdit();
        for (const one of FILES) {
          const about = await vscode.workspace.openTextDocument(file(one));
          for (const range of placesOf(about, word)) edit.replace(about.uri, range, name);
        }
        return edit;
      },
    }),
  );
}

describe("calls of the tool navigate", () => {
  it("use VS Code's language features, and a rename changes all files", async () => {
    const editor = await cleanFile();
    const asked: string[] = [];
    const features = languageFeatures(asked);
    const place = '"path": "shop/invoice.py", "line": 15, "symbol": "total"';
    try {
      await taskAt("indwell.refactor", editor, `navigate {"action": "definition", ${place}}`);
      const rename = `navigate {"action": "rename", "new_name": "sum_of", ${place}}`;
      await taskAt("indwell.refactor", editor, rename);
    } finally {
      features.dispose();
    }
    // The first rename is requested until two answers are equal.
    assert.deepEqual(
      [...new Set(asked)],
      ["definition of total at 14:4", "rename total to sum_of"],
    );
    const texts = await Promise.all(
      FILES.map(async (one) => (await vscode.workspace.openTextDocument(file(one))).getText()),
    );
    const before = [INVOICE, SHOP["tests/test_invoice.py"] ?? ""];
    assert.deepEqual(
      texts,
      before.map((one) => one.replaceAll(/\btotal\b/g, "sum_of")),
    );
    await vscode.commands.executeCommand("indwell.reject", { all: true, wait: true });
  });
});
