/** The server is gone: the panel says so, keeps what was typed, and goes on when it is back. */
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import type { Chat } from "../editor/chat.ts";
import { serverOf } from "../editor/server-process.ts";
import { keepPictures, openChat } from "../editor/shared.ts";
import { SHOP } from "../editor/shop-files.ts";

describe("a server that is gone", () => {
  let chat: Chat;
  keepPictures(() => chat);
  before(async () => {
    chat = await openChat({ name: "down", files: SHOP });
    await chat.ask("say Words of before.");
  });
  after(() => chat.close());

  test("killed in a turn: it comes back, the conversation stays, and the turn is told as broken off", async () => {
    await chat.send("hang In the middle");
    await chat.panel.getByText("In the middle …").waitFor();
    const server = await serverOf(chat.host);
    assert.ok(server !== null);
    process.kill(server, "SIGKILL");
    await chat.panel.getByText("Interrupted: Indwell ended while this turn ran").waitFor();
    await chat.panel.getByText("Words of before.", { exact: true }).waitFor();
    await chat.fresh();
    await chat.ask("say It answers again.");
  });

  test("stopped by the user: a bar says so, and its Start goes on", async () => {
    await chat.command("indwell.stopServer");
    const restart = chat.panel.getByRole("button", { name: "Start", exact: true });
    await restart.waitFor();
    await restart.click();
    await restart.waitFor({ state: "detached" });
    await chat.ask("say And on.");
  });
});
