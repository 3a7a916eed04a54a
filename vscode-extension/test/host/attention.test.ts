import assert from "node:assert/strict";
import * as vscode from "vscode";
import type { ContextResult } from "../../src/protocol.ts";
import { until } from "../editor/waiting.ts";
import { openNew } from "./workspace.ts";

/** The labels of what the next prompt would attach. */
async function attachedLabels(): Promise<string> {
  const context = await vscode.commands.executeCommand<ContextResult>("indwell.explainRequest", {
    show: false,
  });
  return context.attached.map(({ kind, label }) => `${kind} ${label}`).join(", ");
}

describe("the context of the editor", () => {
  it("attaches the selection with its lines", async () => {
    const editor = await openNew("attention/chosen.py", "one = 1\ntwo = 2\nthree = 3\n");
    editor.selection = new vscode.Selection(1, 0, 2, 9);
    await until("the selection", async () => /chosen\.py.*2.*3/.test(await attachedLabels()));
  });

  it("attaches the file that is shown, and not the one shown before", async () => {
    await openNew("attention/shown.py", "x = 1\n");
    await until("the file", async () => /shown\.py/.test(await attachedLabels()));
    assert.doesNotMatch(await attachedLabels(), /chosen\.py/);
  });
});
