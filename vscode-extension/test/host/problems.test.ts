import assert from "node:assert/strict";
import * as vscode from "vscode";
import type { TurnResult } from "../../src/protocol.ts";
import { INVOICE } from "../editor/shop-files.ts";
import { cleanFile } from "./clean-file.ts";

/** Delay of the checker in milliseconds, long enough that Indwell's own hints come before its problems. */
const CHECKING_MS = 600;

/** Registers a checker like that of a language extension: it reports problems a while after each change. */
function registerChecker(find: (text: string) => readonly vscode.Diagnostic[]): vscode.Disposable {
  const problems = vscode.languages.createDiagnosticCollection("checker");
  const check = (document: vscode.TextDocument): void => {
    if (document.uri.path.endsWith("/invoice.py"))
      problems.set(document.uri, find(document.getText()));
  };
  for (const document of vscode.workspace.textDocuments) check(document);
  let timer: NodeJS.Timeout | undefined;
  return vscode.Disposable.from(
    problems,
    vscode.workspace.onDidChangeTextDocument((event) => {
      if (event.document.uri.scheme !== "file") return;
      clearTimeout(timer);
      timer = setTimeout(() => check(event.document), CHECKING_MS);
    }),
    new vscode.Disposable(() => clearTimeout(timer)),
  );
}

async function runRounding(editor: vscode.TextEditor): Promise<TurnResult> {
  const at = { line: 0, character: 0 };
  const result = await vscode.commands.executeCommand<TurnResult>("indwell.refactor", {
    uri: editor.document.uri.toString(),
    range: { start: at, end: at },
    text: "rounding Fix the rounding",
    wait: true,
  });
  assert.equal(result.ending, "done", result.message);
  return result;
}

describe("problems after an edit", () => {
  afterEach(async () => {
    await vscode.commands.executeCommand("indwell.reject", { all: true });
  });

  it("are waited for, and an edit without problems is verified", async () => {
    const editor = await cleanFile();
    const checking = registerChecker(() => []);
    const result = await runRounding(editor);
    checking.dispose();
    assert.match(result.verified, /verified by the editor's problems/);
  });

  it("are reported, and a new problem is not a verified edit", async () => {
    const editor = await cleanFile();
    const checking = registerChecker((text) =>
      text === INVOICE
        ? []
        : [new vscode.Diagnostic(new vscode.Range(19, 0, 19, 5), "this is wrong now")],
    );
    const result = await runRounding(editor);
    checking.dispose();
    assert.match(result.verified, /1 new error/);
  });
});
