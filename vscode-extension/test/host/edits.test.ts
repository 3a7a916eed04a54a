import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import * as vscode from "vscode";
import { INVOICE } from "../editor/shop-files.ts";
import { until } from "../editor/waiting.ts";
import { taskAt } from "./task.ts";
import { file, openNew } from "./workspace.ts";

describe("edits of the agent", () => {
  it("change the open document, and one undo reverts all of them", async () => {
    const editor = await openNew("shop/invoice.py", INVOICE);
    await taskAt("indwell.refactor", editor, "rounding Fix the rounding");
    const changed = editor.document.getText();
    assert.match(changed, /return round\(amount/);
    assert.match(changed, /price:\.2f/);
    await vscode.window.showTextDocument(editor.document);
    await vscode.commands.executeCommand("undo");
    await until("the old text", () => editor.document.getText() === INVOICE);
    await vscode.commands.executeCommand("redo");
    await until("the new text", () => editor.document.getText() === changed);
    await vscode.commands.executeCommand("indwell.reject", { all: true, wait: true });
  });

  it("save unsaved text before a command runs", async () => {
    const editor = await openNew("saved/notes.txt", "old\n");
    await editor.edit((builder) => builder.insert(new vscode.Position(0, 0), "unsaved "));
    assert.ok(editor.document.isDirty);
    await taskAt("indwell.refactor", editor, "run cat saved/notes.txt");
    assert.ok(!editor.document.isDirty);
    assert.equal(readFileSync(file("saved/notes.txt").fsPath, "utf8"), "unsaved old\n");
  });
});
