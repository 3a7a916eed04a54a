import assert from "node:assert/strict";
import * as vscode from "vscode";
import { until } from "../editor/waiting.ts";
import { serverProcesses } from "./own-server.ts";
import { openNew } from "./workspace.ts";

/** Returns whether the server answers a request. */
async function serverAnswers(): Promise<boolean> {
  const result: unknown = await vscode.commands.executeCommand("indwell.explainRequest", {
    show: false,
  });
  return typeof result === "object" && result !== null;
}

describe("the server", () => {
  it("starts with the first document that is opened", async () => {
    await openNew("process/first.py", "x = 1\n");
    const [pid] = await until("a server", () =>
      serverProcesses().length === 1 ? serverProcesses() : null,
    );
    assert.ok(pid !== undefined && pid > 0);
    assert.ok(await serverAnswers());
  });

  it("runs on the machine of the files, as a child of the extension host, if the window is remote", () => {
    const extension = vscode.extensions.getExtension("indwell.indwell");
    assert.equal(extension?.extensionKind, vscode.ExtensionKind.Workspace);
    assert.equal(vscode.env.uiKind, vscode.UIKind.Web);
    assert.notEqual(vscode.env.remoteName, undefined);
    assert.equal(vscode.workspace.workspaceFolders?.[0]?.uri.scheme, "file");
    assert.equal(serverProcesses().length, 1); // It is a child of this process.
  });

  it("restarts as another process each time it is killed", async () => {
    for (let kills = 0; kills < 2; kills += 1) {
      const [before] = await until("a server", () =>
        serverProcesses().length === 1 ? serverProcesses() : null,
      );
      assert.ok(before !== undefined);
      process.kill(before, "SIGKILL");
      await until("another server", () => serverProcesses().some((pid) => pid !== before));
      assert.ok(await serverAnswers());
    }
  });

  it("stays stopped when the user stops it, and starts by command", async () => {
    await vscode.commands.executeCommand("indwell.stopServer");
    await until("no server", () => serverProcesses().length === 0);
    await vscode.commands.executeCommand("indwell.startServer");
    await until("a server", () => serverProcesses().length === 1);
    assert.ok(await serverAnswers());
  });
});
