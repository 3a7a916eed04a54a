/** An MCP server of the project, built with the Python SDK: approval, calls, completions and the page of servers. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { after, before, describe, test } from "node:test";
import type { Chat } from "../editor/chat.ts";
import { call, inOrder, say } from "../editor/model-script.ts";
import { openChat, pictureFailures, theModel } from "../editor/shared.ts";
import { SHOP } from "../editor/shop-files.ts";
import { until } from "../editor/waiting.ts";

const ROOT = resolve(import.meta.dirname, "../../..");
const PAPER = {
  command: join(ROOT, ".venv/bin/python"),
  args: [join(ROOT, "tests/support/mcp_server.py")],
};

describe("an MCP server of the project", () => {
  let chat: Chat;
  pictureFailures(() => chat);
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

  test("is named in a line of the panel after its approval dialog was closed without an answer", async () => {
    await chat.send("say hello");
    await dialog().waitFor();
    await chat.page.keyboard.press("Escape");
    await chat.idle();
    await chat.panel.getByText("The MCP server paper is not used.", { exact: true }).waitFor();
    await chat.picture("mcp-waits", "panel");
    await chat.panel.getByRole("button", { name: "Decide…", exact: true }).click();
  });

  test("is approved in a dialog that shows its command, and a tool call is approved in the panel", async () => {
    const server = chat.panel.locator(".mcp-server", { hasText: "paper" });
    await server.getByRole("button", { name: "Decide…", exact: true }).click();
    await dialog().waitFor();
    const shown = (await dialog().textContent()) ?? "";
    assert.ok(shown.includes(".mcp.json of this project defines the MCP server 'paper'"), shown);
    assert.ok(shown.includes(PAPER.args[0] ?? ""), shown);
    await dialog().getByText("Start this server", { exact: true }).click();
    await server
      .getByRole("button", { name: "Decide…", exact: true })
      .waitFor({ state: "detached" });
    await chat.panel.getByRole("button", { name: "Back to the conversation" }).click();
    await chat.panel.getByText(/^The MCP server paper/).waitFor({ state: "detached" });
    await chat.send("sum two and three");
    await chat.answer("Once");
    await chat.panel.getByText("It is five.", { exact: true }).waitFor();
    await chat.idle();
    const sent = JSON.stringify((await theModel()).requests.at(-1));
    assert.ok(sent.includes("paper__add"), "the model called the tool");
  });

  test("offers its resource and its prompt as completions in the panel", async () => {
    await chat.composer.fill("see @paper:");
    await chat.panel.getByText("@paper:note://today", { exact: true }).waitFor();
    await chat.composer.fill("/paper:");
    await chat.panel.getByText("/paper:letter", { exact: true }).waitFor();
    await chat.composer.fill("");
  });

  test("is listed with its state, tools and log on a page, which can add and remove a server of the user", async () => {
    await chat.command("indwell.mcp");
    const config = join(dirname(dirname(chat.folder)), "config/mcp/indwell/config.toml");
    const server = (name: string) => chat.panel.locator(".mcp-server", { hasText: name });
    await server("paper").getByText("Running").waitFor();
    await server("paper")
      .getByRole("button", { name: /tools$/ })
      .click();
    await server("paper").locator(".mcp-permission", { hasText: "asks" }).first().waitFor();
    await server("paper").getByRole("button", { name: "Show log of paper" }).click();
    await chat.page.getByRole("tab", { name: /MCP server paper\.log/ }).waitFor();
    await chat.page.locator(".view-line", { hasText: /ready:.paper.1\.2/ }).waitFor();
    await chat.panel.getByRole("button", { name: "Add a server…" }).click();
    await chat.panel.getByLabel("Name", { exact: true }).fill("files");
    await chat.panel.getByLabel("Command line").fill("npx -y files .");
    await chat.panel.getByRole("button", { name: "Add", exact: true }).click();
    await server("npx -y files .").waitFor();
    await chat.panel.getByRole("button", { name: "Remove files" }).click();
    await dialog().getByText("Remove", { exact: true }).click();
    await until("the removal", () => !readFileSync(config, "utf8").includes("mcp.files"));
    await server("npx -y files .").waitFor({ state: "detached" });
    await chat.panel.getByRole("button", { name: "Back to the conversation" }).click();
    await chat.composer.waitFor();
  });
});
