/** A project's MCP server, made with the SDK for Python: approved in a dialog, called, listed, removed. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { after, before, describe, test } from "node:test";
import type { Chat } from "../editor/chat.ts";
import { call, inOrder, say } from "../editor/model-script.ts";
import { keepPictures, openChat, theModel } from "../editor/shared.ts";
import { SHOP } from "../editor/shop-files.ts";
import { until } from "../editor/waiting.ts";

const ROOT = resolve(import.meta.dirname, "../../..");
const PAPER = {
  command: join(ROOT, ".venv/bin/python"),
  args: [join(ROOT, "tests/support/mcp_server.py")],
};

describe("an MCP server of the project", () => {
  let chat: Chat;
  keepPictures(() => chat);
  before(async () => {
    const defined = JSON.stringify({ mcpServers: { paper: PAPER } });
    chat = await openChat({ name: "mcp", files: { ...SHOP, ".mcp.json": defined } });
    (await theModel()).on(
      "sum",
      inOrder(
        [call("find_tools", { query: "add" })],
        [call("paper__add", { a: 2, b: 3 })],
        [say("It is five.")],
      ),
    );
  });
  after(() => chat.close());

  const dialog = () => chat.page.locator(".monaco-dialog-box");
  const list = () => chat.page.locator(".quick-input-widget");

  test("is approved in a dialog that shows its command, and each call in the panel", async () => {
    await chat.send("sum two and three");
    await dialog().waitFor();
    const shown = (await dialog().textContent()) ?? "";
    assert.ok(shown.includes(".mcp.json of this project defines the MCP server 'paper'"), shown);
    assert.ok(shown.includes(PAPER.args[0] ?? ""), shown);
    await dialog().getByText("Start this server", { exact: true }).click();
    await chat.answer("Once");
    await chat.panel.getByText("It is five.", { exact: true }).waitFor();
    await chat.idle();
    const sent = JSON.stringify((await theModel()).requests.at(-1));
    assert.ok(sent.includes("paper__add"), "the model called the tool");
  });

  test("completes its resource and its prompt in the panel", async () => {
    await chat.composer.fill("see @paper:");
    await chat.panel.getByText("@paper:note://today", { exact: true }).waitFor();
    await chat.composer.fill("/paper:");
    await chat.panel.getByText("/paper:letter", { exact: true }).waitFor();
    await chat.composer.fill("");
  });

  test("is listed with its state, and one of the user's own is added and removed", async () => {
    void chat.command("indwell.mcp").catch(() => undefined); // lasts until the list is closed
    const config = join(dirname(dirname(chat.folder)), "config/mcp/indwell/config.toml");
    const row = (name: string) => list().locator(".monaco-list-row", { hasText: name });
    await row("paper").getByText("ready", { exact: false }).first().waitFor();
    await row("Add a server").click();
    await list().locator("input[type=text]").fill("npx -y files .");
    await chat.page.keyboard.press("Enter");
    await list().getByText("Its name").first().waitFor();
    await list().locator("input[type=text]").fill("files");
    await chat.page.keyboard.press("Enter");
    await row("npx -y files .").waitFor();
    await row("npx -y files .").hover();
    await row("npx -y files .").getByLabel("Remove from Your Settings").click();
    await dialog().getByText("Remove", { exact: true }).click();
    await until("the removal", () => !readFileSync(config, "utf8").includes("mcp.files"));
    await chat.page.keyboard.press("Escape");
  });
});
