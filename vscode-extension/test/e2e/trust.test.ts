/** Workspace trust: VS Code's trust alone decides whether Indwell may write; files of the folder need a decision. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import type { Chat } from "../editor/chat.ts";
import { serverOf } from "../editor/server-process.ts";
import { openChat, pictureFailures } from "../editor/shared.ts";
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

  test("answers a prompt and writes nothing", async () => {
    assert.equal(await chat.host.run((vscode) => vscode.workspace.isTrusted, null), false);
    await chat.ask("write made.txt");
    assert.throws(() => readFileSync(join(chat.folder, "made.txt")), /ENOENT/);
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
