import assert from "node:assert/strict";
import * as vscode from "vscode";
import type { VerdictResult } from "../../src/protocol.ts";
import { INVOICE } from "../editor/shop-files.ts";
import { until } from "../editor/waiting.ts";
import { cleanFile } from "./clean-file.ts";
import { taskAt } from "./task.ts";
import { file } from "./workspace.ts";

const run = <Result>(command: string, ...args: unknown[]): Thenable<Result> =>
  vscode.commands.executeCommand<Result>(command, ...args);

/** Returns the lines that have their own Accept lens above them. */
async function changedLines(uri: vscode.Uri): Promise<readonly number[]> {
  const lenses = await run<readonly vscode.CodeLens[]>("vscode.executeCodeLensProvider", uri, 50);
  return lenses
    .filter((lens) => lens.command?.command === "indwell.accept")
    .filter((lens) => /\bAccept (Ctrl|⌘)/.test(lens.command?.title ?? ""))
    .map((lens) => lens.range.start.line);
}

async function openWithTwoChanges(): Promise<{
  editor: vscode.TextEditor;
  lines: readonly number[];
}> {
  const editor = await cleanFile();
  await taskAt("indwell.refactor", editor, "rounding Fix the rounding");
  const lines = await until("two changes", async () => {
    const found = await changedLines(editor.document.uri);
    return found.length === 2 ? found : null;
  });
  return { editor: await vscode.window.showTextDocument(editor.document), lines };
}

describe("the review commands", () => {
  afterEach(async () => {
    await run("indwell.reject", { all: true });
  });

  it("step through the changes, and accept or reject the change at the cursor", async () => {
    const { editor, lines } = await openWithTwoChanges();
    const top = new vscode.Position(0, 0);
    editor.selection = new vscode.Selection(top, top);
    await until("the first change", async () => {
      await run("indwell.nextChange");
      return editor.selection.active.line === lines[0];
    });
    await run("indwell.nextChange");
    assert.equal(editor.selection.active.line, lines[1]);
    await run("indwell.previousChange");
    assert.equal(editor.selection.active.line, lines[0]);

    const accepted = await run<VerdictResult>("indwell.acceptChange");
    assert.equal(accepted.hunks.length, 1);
    const kept = editor.document.getText();
    await until("one change", async () => (await changedLines(editor.document.uri)).length === 1);
    const at = new vscode.Position(lines[1] ?? 0, 0);
    editor.selection = new vscode.Selection(at, at);
    const rejected = await until("a rejection", async () => {
      const found = await run<VerdictResult | undefined>("indwell.rejectChange");
      return found ?? null;
    });
    assert.equal(rejected.hunks.length, 1);
    const now = await until("the old lines", () => {
      const text = editor.document.getText();
      return text === kept ? null : text;
    });
    assert.notEqual(now, INVOICE, "the accepted change is kept");
  });

  it("find a change that moved because the user typed above it", async () => {
    const { editor, lines } = await openWithTwoChanges();
    await editor.edit((builder) => builder.insert(new vscode.Position(0, 0), "# one\n# two\n"));
    const top = new vscode.Position(0, 0);
    editor.selection = new vscode.Selection(top, top);
    await until("the first change, two lines lower", async () => {
      editor.selection = new vscode.Selection(top, top);
      await run("indwell.nextChange");
      return editor.selection.active.line === (lines[0] ?? 0) + 2;
    });
  });

  it("accept all changes of a file", async () => {
    const { editor } = await openWithTwoChanges();
    const changedText = editor.document.getText();
    const accepted = await until("a verdict", async () => {
      const found = await run<VerdictResult | undefined>("indwell.acceptFile");
      return found ?? null;
    });
    assert.equal(accepted.hunks.length, 2);
    assert.equal(editor.document.getText(), changedText);
    await until("no lenses", async () => (await changedLines(editor.document.uri)).length === 0);
  });

  it("open the changes of several files in one editor, and of one file as a diff", async () => {
    const { editor } = await openWithTwoChanges();
    await taskAt("indwell.refactor", editor, "write shop/second.py");
    await until("a review of two files", async () => {
      await run("indwell.review");
      const label = vscode.window.tabGroups.activeTabGroup.activeTab?.label ?? "";
      return label.startsWith("Indwell: Pending changes");
    });
    await vscode.window.showTextDocument(file("shop/invoice.py"));
    await run("indwell.openDiff");
    const input = await until("a diff", () => {
      const shown = vscode.window.tabGroups.activeTabGroup.activeTab?.input;
      return shown instanceof vscode.TabInputTextDiff ? shown : null;
    });
    assert.equal(input.original.scheme, "indwell-base");
  });
});
