import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";

/** Calls that draw links or icons in plain strings, or let Markdown run commands. */
const CALLS =
  /\b(?:show(?:Information|Warning|Error)Message|withProgress|showInputBox|createInputBox|setStatusBarMessage)\b|\bprogress\.report\b|\.isTrusted\s*=|\bsupport(?:Html|ThemeIcons)\b/g;

/** Files that may contain such calls, and why. */
const ALLOWED: Readonly<Record<string, readonly string[]>> = {
  // the module that escapes the texts
  "say.ts": [
    "showInformationMessage",
    "showWarningMessage",
    "showErrorMessage",
    "withProgress",
    "progress.report",
    "showInputBox",
    "setStatusBarMessage",
  ],
  // a constant text that names three commands
  "editor/pending/change-hover.ts": [".isTrusted ="],
};

test("every message, progress and prompt goes through say.ts, which escapes links and icons", () => {
  const root = join("src", "extension");
  const found: string[] = [];
  for (const path of readdirSync(root, { recursive: true, encoding: "utf8" })) {
    if (!path.endsWith(".ts")) continue;
    const name = path.replaceAll("\\", "/");
    for (const [call] of readFileSync(join(root, path), "utf8").matchAll(CALLS)) {
      if (ALLOWED[name]?.includes(call) !== true) found.push(`${name}: ${call}`);
    }
  }
  assert.deepEqual(found, []);
});
