/** Workspace trust: VS Code's trust alone decides whether Indwell may write; files of the folder need a decision. */
import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import type { Chat } from "../editor/chat.ts";
import { serverOf } from "../editor/server-process.ts";
import { openChat, pictureFailures, theModel } from "../editor/shared.ts";
import { SHOP } from "../editor/shop-files.ts";
import { until } from "../editor/waiting.ts";

describe("a window in restricted mode", () => {
  let chat: Chat;
  pictureFailures(() => chat);
  before(async () => {
    chat = await openChat({
      name: "restricted",
      files: { ...SHOP, "AGENTS.md": "Use tabs.\n" },
      settings: {
        "security.workspace.trust.enabled": true,
        "security.workspace.trust.startupPrompt": "never",
        "security.workspace.trust.banner": "never",
      },
      variables: { INDWELL_TRUSTED: "" },
    });
  });
  after(() => chat.close());

  /** The last tool result that the model received. */
  const lastResult = async (): Promise<string> => {
    const messages = (await theModel()).requests.at(-1)?.messages ?? [];
    return JSON.stringify(messages.findLast((message) => message.role === "tool"));
  };

  /** Trusts the window on VS Code's page, and waits for the new server. */
  const trust = async (): Promise<void> => {
    const old = await serverOf(chat.host);
    await chat.command("workbench.trust.manage");
    await chat.page
      .getByRole("button", { name: /^Trust$/ })
      .first()
      .click();
    await until("another server", async () => {
      const now = await serverOf(chat.host);
      return now !== null && now !== old;
    });
    assert.equal(await chat.host.run((vscode) => vscode.workspace.isTrusted, null), true);
    await chat.showPanel();
  };

  /** The files of the folder with their content. */
  const files = (): readonly (readonly [string, string])[] =>
    readdirSync(chat.folder, { recursive: true, withFileTypes: true })
      .filter((one) => one.isFile())
      .map((one) => join(one.parentPath, one.name))
      .sort()
      .map((path) => [path, readFileSync(path, "utf8")]);

  test("reads a file, answers and changes nothing", async () => {
    assert.equal(await chat.host.run((vscode) => vscode.workspace.isTrusted, null), false);
    const before = files();
    await chat.ask("read README.md");
    await chat.panel.getByText("README.md is read.").waitFor();
    assert.match(await lastResult(), /Invoices for a small shop/);
    await chat.ask("write made.txt");
    assert.match(await lastResult(), /the user has not trusted this folder/);
    assert.deepEqual(files(), before);
    const unsaved = await chat.host.run(
      (vscode) => vscode.workspace.textDocuments.filter((one) => one.isDirty).length,
      null,
    );
    assert.equal(unsaved, 0);
  });

  test("writes when VS Code trusts the window, without another question", async () => {
    await trust();
    await chat.panel.getByText(/^Restricted:/).waitFor({ state: "detached" });
    await chat.ask("write made.txt");
    assert.equal(readFileSync(join(chat.folder, "made.txt"), "utf8"), "new\n");
  });

  test("leaves out the instructions of the folder until the user decides", async () => {
    const left = chat.panel.getByText("Files left out: 1 file of instructions.");
    await left.waitFor();
    await chat.panel.getByRole("button", { name: "Decide…" }).click();
    const dialog = chat.page.getByRole("dialog").filter({ hasText: "AGENTS.md" });
    await dialog.getByRole("button", { name: "Use them" }).click();
    await left.waitFor({ state: "detached" });
  });

  test("writes nothing more once VS Code's trust is revoked", async () => {
    const old = await serverOf(chat.host);
    chat.host.forget(); // VS Code restarts the extension host
    const entry = chat.page.locator(".trusted-uris-table .monaco-list-row").first();
    await entry.hover();
    await entry.getByRole("button", { name: "Delete Path" }).click();
    await until("another server", async () => {
      const now = await serverOf(chat.host);
      return now !== null && now !== old;
    });
    await chat.showPanel();
    await chat.panel.getByText(/^Restricted:/).waitFor();
    await chat.ask("write after.txt");
    assert.throws(() => readFileSync(join(chat.folder, "after.txt")), /ENOENT/);
  });
});
