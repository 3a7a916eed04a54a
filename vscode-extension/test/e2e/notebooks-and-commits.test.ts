/** Cells of an open notebook, and commit messages, with the real server and VS Code's Git extension. */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { pathToFileURL } from "node:url";
import type { Chat } from "../editor/chat.ts";
import { call, inOrder, say } from "../editor/model-script.ts";
import { openChat, pictureFailures, theModel } from "../editor/shared.ts";
import { SHOP } from "../editor/shop-files.ts";
import { until } from "../editor/waiting.ts";

const CELLS = [
  { cell_type: "markdown", metadata: {}, source: ["# Sales"] },
  { cell_type: "code", execution_count: 1, metadata: {}, outputs: [], source: ["total = 1"] },
];
const NOTEBOOK = { cells: CELLS, metadata: {}, nbformat: 4, nbformat_minor: 2 };

describe("in the real VS Code", () => {
  let chat: Chat;
  pictureFailures(() => chat);
  before(async () => {
    chat = await openChat({
      name: "notebooks",
      files: { ...SHOP, "sales.ipynb": `${JSON.stringify(NOTEBOOK, null, 1)}\n` },
      settings: {
        "files.autoSave": "off",
        "git.enabled": true,
        "git.openRepositoryInParentFolders": "never",
      },
    });
    (await theModel()).on(
      "cells",
      inOrder(
        [call("read_file", { path: "sales.ipynb" })],
        [call("edit_file", { path: "sales.ipynb", edits: [{ old: "+ 1", new: "+ 2" }] })],
        [say("The cell is changed.")],
      ),
    );
  });
  after(() => chat.close());

  const newestRequest = async (): Promise<string> =>
    JSON.stringify((await theModel()).requests.at(-1));
  const cells = (): Promise<readonly string[]> =>
    chat.host.run(
      (vscode) =>
        vscode.workspace.notebookDocuments.flatMap((one) =>
          one.getCells().map((cell) => cell.document.getText()),
        ),
      null,
    );

  test("the model reads unsaved cells, and its edit changes the cell without saving it", async () => {
    const path = join(chat.folder, "sales.ipynb");
    const saved = readFileSync(path, "utf8");
    await chat.host.run(async (vscode, file) => {
      const notebook = await vscode.workspace.openNotebookDocument(vscode.Uri.file(file));
      const edit = new vscode.WorkspaceEdit();
      const cell = notebook.cellAt(1).document;
      edit.insert(cell.uri, new vscode.Position(0, 9), " + 1");
      await vscode.workspace.applyEdit(edit);
    }, path);
    // Does not use the panel, because the notebook has a webview, too.
    const ending = await chat.host.run(
      async (vscode, uri) => {
        await vscode.workspace.openTextDocument(vscode.Uri.parse(uri));
        const start = { line: 0, character: 0 };
        const given = { uri, range: { start, end: start }, text: "cells Add two", wait: true };
        const ended: unknown = await vscode.commands.executeCommand("indwell.refactor", given);
        return JSON.stringify(ended);
      },
      pathToFileURL(join(chat.folder, "shop", "invoice.py")).href,
    );
    assert.match(ending, /"ending":"done"/);
    assert.match(await newestRequest(), /4\\ttotal = 1 \+ 1/);
    await until("the edit in the cell", async () => (await cells())[1] === "total = 1 + 2");
    assert.equal(readFileSync(path, "utf8"), saved, "the user saves, not the agent");
    await until("the bar in the cell", () =>
      chat.host.run(async (vscode) => {
        const notebook = vscode.workspace.notebookDocuments[0];
        if (notebook === undefined) return false;
        // The workbench has the text of a cell only while an editor shows the notebook.
        await vscode.window.showNotebookDocument(notebook);
        const lenses = vscode.commands.executeCommand<{ command?: { command: string } }[]>(
          "vscode.executeCodeLensProvider",
          notebook.cellAt(1).document.uri,
          9,
        );
        const shown = await lenses.then(undefined, () => []); // refused before the cell is drawn
        return shown.some((one) => one.command?.command === "indwell.reject");
      }, null),
    );
  });

  test("the command of Source Control fills its box with a commit message and commits nothing", async () => {
    const git = (...words: readonly string[]): string =>
      execFileSync("git", ["-c", "user.name=n", "-c", "user.email=n@example.org", ...words], {
        cwd: chat.folder,
        encoding: "utf8",
      });
    git("init", "-q", "-b", "main");
    git("add", "-A");
    git("commit", "-q", "-m", "Begin the shop");
    writeFileSync(join(chat.folder, "made.txt"), "STAGED\n");
    git("add", "made.txt");
    (await theModel()).otherwise(inOrder([say("Make a file")]));
    const message = await chat.host.run(async (vscode, folder) => {
      const extension = vscode.extensions.getExtension("vscode.git");
      if (extension === undefined) return "VS Code has no git";
      const api = (await extension.activate()).getAPI(1);
      const repository = await api.openRepository(vscode.Uri.file(folder));
      await vscode.commands.executeCommand("indwell.commitMessage", {
        rootUri: repository.rootUri,
      });
      return repository.inputBox.value as string;
    }, chat.folder);
    assert.equal(message, "Make a file");
    assert.match(await newestRequest(), /\+STAGED/);
    assert.equal(git("log", "--format=%s").trim(), "Begin the shop");
    await chat.command("workbench.view.scm");
    await chat.page.getByRole("button", { name: "Write a Commit Message" }).first().waitFor();
  });
});
