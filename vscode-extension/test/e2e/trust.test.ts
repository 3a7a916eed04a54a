/** Restricted mode: reading goes on, changing does not; trust starts the server anew. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import type { Chat } from "../editor/chat.ts";
import { serverOf } from "../editor/server-process.ts";
import { keepPictures, openChat } from "../editor/shared.ts";
import { SHOP } from "../editor/shop-files.ts";
import { until } from "../editor/waiting.ts";

describe("a window in restricted mode", () => {
  let chat: Chat;
  keepPictures(() => chat);
  before(async () => {
    chat = await openChat({
      name: "restricted",
      files: SHOP,
      settings: {
        "security.workspace.trust.enabled": true,
        "security.workspace.trust.startupPrompt": "never",
        "security.workspace.trust.banner": "never",
      },
    });
  });
  after(() => chat.close());

  test("answers and reads, and writes nothing although the folder is trusted elsewhere", async () => {
    assert.equal(await chat.host.run((vscode) => vscode.workspace.isTrusted, null), false);
    await chat.ask("write made.txt");
    assert.throws(() => readFileSync(join(chat.folder, "made.txt")), /ENOENT/);
  });

  test("writes once the window is trusted: the server starts anew and the conversation goes on", async () => {
    const restricted = await serverOf(chat.host);
    await chat.command("workbench.trust.manage");
    await chat.page
      .getByRole("button", { name: /^Trust$/ })
      .first()
      .click();
    await until("trust", () => chat.host.run((vscode) => vscode.workspace.isTrusted, null));
    await until("another server", async () => {
      const now = await serverOf(chat.host);
      return now !== null && now !== restricted;
    });
    await chat.showPanel();
    await chat.panel.getByText(/^Restricted:/).waitFor({ state: "detached" });
    await chat.ask("write made.txt");
    assert.equal(readFileSync(join(chat.folder, "made.txt"), "utf8"), "new\n");
  });
});
