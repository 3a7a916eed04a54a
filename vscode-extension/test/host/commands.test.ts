import assert from "node:assert/strict";
import * as vscode from "vscode";
import { until } from "../editor/waiting.ts";

interface Contributed {
  readonly command: string;
  readonly title: string;
  readonly category?: string;
}

function contributed(): readonly Contributed[] {
  const own = vscode.extensions.getExtension("indwell.indwell");
  assert.ok(own, "the extension is not installed");
  return own.packageJSON.contributes.commands;
}

describe("commands", () => {
  it("of the manifest are all registered", async () => {
    await until("activation", () => vscode.extensions.getExtension("indwell.indwell")?.isActive);
    const registered = new Set(await vscode.commands.getCommands(true));
    const missing = contributed().filter(({ command }) => !registered.has(command));
    assert.deepEqual(
      missing.map(({ command }) => command),
      [],
    );
  });

  it("have a title without end mark or 'my', and the category Indwell", () => {
    const wrong = contributed().filter(
      ({ title, category }) => category !== "Indwell" || /[.!]$|\bmy\b/i.test(title),
    );
    assert.deepEqual(wrong, []);
  });
});
