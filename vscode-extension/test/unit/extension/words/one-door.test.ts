import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";

/** What draws links or icons of plain strings, or lets Markdown run commands. */
const DOORS =
  /\b(?:show(?:Information|Warning|Error)Message|withProgress|showInputBox|createInputBox|setStatusBarMessage)\b|\bprogress\.report\b|\.isTrusted\s*=|\bsupport(?:Html|ThemeIcons)\b/g;

/** Files that may, and why. */
const MAY: Readonly<Record<string, readonly string[]>> = {
  // the door itself
  "say.ts": [
    "showInformationMessage",
    "showWarningMessage",
    "showErrorMessage",
    "withProgress",
    "progress.report",
    "showInputBox",
    "setStatusBarMessage",
  ],
  // three commands by name, in a text that is all our own
  "editor/pending/change-hover.ts": [".isTrusted ="],
};

test("every message, progress and prompt goes through the one door that makes words plain", () => {
  const root = join("src", "extension");
  const found: string[] = [];
  for (const path of readdirSync(root, { recursive: true, encoding: "utf8" })) {
    if (!path.endsWith(".ts")) continue;
    const name = path.replaceAll("\\", "/");
    for (const [door] of readFileSync(join(root, path), "utf8").matchAll(DOORS)) {
      if (MAY[name]?.includes(door) !== true) found.push(`${name}: ${door}`);
    }
  }
  assert.deepEqual(found, []);
});
