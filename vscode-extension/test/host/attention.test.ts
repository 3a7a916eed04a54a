import assert from "node:assert/strict";
import * as vscode from "vscode";
import type { ContextResult } from "../../src/protocol.ts";
import { until } from "../editor/waiting.ts";
import { openNew } from "./workspace.ts";

/** What would go along with the next prompt, as labels. */
async function attached(): Promise<string> {
  const context = await vscode.commands.executeCommand<ContextResult>("indwell.explainRequest", {
    show: false,
  });
  return context.attached.map(({ kind, label }) => `${kind} ${label}`).join(", ");
}

describe("what the user looks at", () => {
  it("goes along: the selection, with its lines", async () => {
    const editor = await openNew("attention/chosen.py", "one = 1\ntwo = 2\nthree = 3\n");
    editor.selection = new vscode.Selection(1, 0, 2, 9);
    await until("the selection", async () => /chosen\.py.*2.*3/.test(await attached()));
  });

  it("goes along: the file, when another one is shown", async () => {
    await openNew("attention/shown.py", "x = 1\n");
    await until("the file", async () => /shown\.py/.test(await attached()));
    assert.doesNotMatch(await attached(), /chosen\.py/);
  });
});
