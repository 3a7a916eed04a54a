import assert from "node:assert/strict";
import * as vscode from "vscode";
import { INVOICE } from "../editor/shop-files.ts";
import { until } from "../editor/waiting.ts";
import { taskAt } from "./task.ts";
import { file, openNew } from "./workspace.ts";

describe("pending changes", () => {
  before(async () => {
    const editor = await openNew("shop/invoice.py", INVOICE);
    await taskAt("indwell.refactor", editor, "rounding Fix the rounding");
  });

  after(async () => {
    await vscode.commands.executeCommand("indwell.reject", { all: true, wait: true });
  });

  it("have a base document with the text before the changes", async () => {
    const base = file("shop/invoice.py").with({ scheme: "indwell-base" });
    const document = await vscode.workspace.openTextDocument(base);
    assert.equal(document.getText(), INVOICE);
  });

  it("can be read as a unified diff", async () => {
    const path = `${file("shop/invoice.py").path}.diff`;
    const document = await vscode.workspace.openTextDocument(
      vscode.Uri.from({ scheme: "indwell-diff", path }),
    );
    assert.match(document.getText(), /^\+ {4}return round\(amount \* \(1 - discount\), 2\)$/m);
  });

  it("open in VS Code's diff editor", async () => {
    await vscode.commands.executeCommand("indwell.review");
    const input = await until("a diff editor", () => {
      const shown = vscode.window.tabGroups.activeTabGroup.activeTab?.input;
      return shown instanceof vscode.TabInputTextDiff ? shown : null;
    });
    assert.equal(input.original.scheme, "indwell-base");
    assert.equal(input.modified.toString(), file("shop/invoice.py").toString());
  });

  it("have code lenses to accept and to reject", async () => {
    const uri = file("shop/invoice.py");
    await vscode.window.showTextDocument(uri);
    const lenses = await until("lenses", async () => {
      const found = await vscode.commands.executeCommand<readonly vscode.CodeLens[]>(
        "vscode.executeCodeLensProvider",
        uri,
        50,
      );
      return found.length > 0 ? found : null;
    });
    const titles = new Set(lenses.map((lens) => lens.command?.title));
    assert.ok(
      [...titles].some((title) => /Accept/.test(title ?? "")),
      [...titles].join(),
    );
    assert.ok(
      [...titles].some((title) => /Reject/.test(title ?? "")),
      [...titles].join(),
    );
  });
});
