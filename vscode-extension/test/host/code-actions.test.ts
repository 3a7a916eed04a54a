import assert from "node:assert/strict";
import * as vscode from "vscode";
import { until } from "../editor/waiting.ts";
import { openNew } from "./workspace.ts";

async function indwellActions(
  editor: vscode.TextEditor,
  range: vscode.Range,
  kind?: vscode.CodeActionKind,
): Promise<readonly vscode.CodeAction[]> {
  const actions = await vscode.commands.executeCommand<readonly vscode.CodeAction[]>(
    "vscode.executeCodeActionProvider",
    editor.document.uri,
    range,
    kind?.value,
  );
  return actions.filter((action) => action.kind?.value.includes("indwell"));
}

describe("the lightbulb", () => {
  it("offers to fix a problem, as a quick fix", async () => {
    const editor = await openNew("bulb/wrong.py", "x = yy\n");
    const problems = vscode.languages.createDiagnosticCollection("checker");
    const range = new vscode.Range(0, 4, 0, 6);
    problems.set(editor.document.uri, [new vscode.Diagnostic(range, "yy is not defined")]);
    const [fix] = await until("a quick fix", async () => {
      const actions = await indwellActions(editor, range, vscode.CodeActionKind.QuickFix);
      return actions.length > 0 ? actions : null;
    });
    assert.equal(fix?.title, "Fix this (Indwell)");
    assert.equal(fix?.kind?.value, "quickfix.indwell");
    assert.notEqual(fix?.isPreferred, true);
    problems.dispose();
  });

  it("offers tasks for a selection as refactorings", async () => {
    const editor = await openNew("bulb/selected.py", "def f():\n    return 1\n");
    const actions = await until("actions", async () => {
      const found = await indwellActions(editor, new vscode.Range(0, 0, 1, 12));
      return found.length > 3 ? found : null;
    });
    const rows = Object.fromEntries(actions.map(({ title, kind }) => [title, kind?.value]));
    assert.equal(rows["Explain this (Indwell)"], "refactor.indwell");
    assert.equal(rows["Document this (Indwell)"], "refactor.indwell");
    assert.equal(rows["Write tests for this (Indwell)"], "refactor.indwell");
    assert.equal(rows["Refactor this… (Indwell)"], "refactor.indwell");
    assert.equal(rows["Ask about this… (Indwell)"], "refactor.indwell");
  });
});
