import assert from "node:assert/strict";
import * as vscode from "vscode";

interface Binding {
  readonly key: string;
  readonly command: string;
  readonly when?: string;
}

/** The default bindings of VS Code and its built-in extensions, without Indwell's. */
async function defaults(): Promise<readonly Binding[]> {
  const uri = vscode.Uri.parse("vscode://defaultsettings/keybindings.json");
  const text = (await vscode.workspace.openTextDocument(uri)).getText();
  const found: Binding[] = [];
  for (const [entry] of text.matchAll(/^\{[^{}]*\}/gm)) {
    const one: unknown = JSON.parse(entry.replace(/,\s*\}$/, "}"));
    if (isBinding(one) && !one.command.startsWith("indwell.")) found.push(one);
  }
  return found;
}

function isBinding(value: unknown): value is Binding {
  return typeof value === "object" && value !== null && "key" in value && "command" in value;
}

/** Conditions that cannot hold while an editor has the focus, which Indwell's bindings require. */
const ELSEWHERE = /notebookCellListFocused|inQuickInput|listFocus|terminalFocus|!inputFocus/;
/** The condition of keys in Indwell's inline field, where no other key has a meaning. */
const IN_OUR_FIELD = /commentController == indwell\.inline/;
/** Editors use this key for an edit at the selection; docs/editors/vscode.md says how to restore VS Code's binding. */
const TAKEN_ON_PURPOSE = "ctrl+i";

describe("keys", () => {
  it("override no default key of VS Code in an editor", async () => {
    const own: readonly Binding[] =
      vscode.extensions.getExtension("indwell.indwell")?.packageJSON.contributes.keybindings;
    const others = await defaults();
    assert.ok(others.length > 300, `${others.length} default keys`);
    const taken = own
      .filter(({ key, when }) => key !== TAKEN_ON_PURPOSE && !IN_OUR_FIELD.test(when ?? ""))
      .flatMap(({ key, command }) =>
        others
          .filter((one) => one.key === key || one.key.startsWith(`${key} `))
          .filter((one) => !ELSEWHERE.test(one.when ?? ""))
          .map((one) => `${key}: ${command} and ${one.command} when ${one.when ?? "always"}`),
      );
    assert.deepEqual(taken, []);
  });
});
