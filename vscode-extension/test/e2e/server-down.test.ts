/** A server that ends: it is killed, stopped by the user, or ended by a reload of the window. */
import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import type { Chat } from "../editor/chat.ts";
import { call, inOrder, say } from "../editor/model-script.ts";
import { serverOf } from "../editor/server-process.ts";
import { openChat, pictureFailures, theModel } from "../editor/shared.ts";
import { SHOP } from "../editor/shop-files.ts";
import { until } from "../editor/waiting.ts";

describe("a server that ended", () => {
  let chat: Chat;
  pictureFailures(() => chat);
  before(async () => {
    chat = await openChat({ name: "down", files: SHOP });
    const model = await theModel();
    const slow = { command: "echo ran >> ran.txt; sleep 300" };
    model.on("interrupt", inOrder([say("It begins."), call("bash", slow)]));
    model.on("Continue", inOrder([say("It went on from there.")]));
    await chat.ask("say Words of before.");
  });
  after(() => chat.close());

  test("restarts after it was killed, and the panel keeps the conversation and marks the turn as interrupted", async () => {
    await chat.send("hang In the middle");
    await chat.panel.getByText("In the middle …").waitFor();
    const server = await serverOf(chat.host);
    assert.ok(server !== null);
    process.kill(server, "SIGKILL");
    await chat.panel.getByText("Interrupted: Indwell ended while this turn ran").waitFor();
    await chat.panel.getByText("Words of before.", { exact: true }).waitFor();
    await chat.newSession();
    await chat.ask("say It answers again.");
  });

  test("starts again by the panel's Start button after the user stopped it", async () => {
    await chat.command("indwell.stopServer");
    const restart = chat.panel.getByRole("button", { name: "Start", exact: true });
    await restart.waitFor();
    await restart.click();
    await restart.waitFor({ state: "detached" });
    await chat.ask("say And on.");
  });

  test("after a reload during a turn, the turn is marked as interrupted, and Continue does not run its command again", async () => {
    await chat.newSession();
    await chat.send("interrupt Do it");
    const ran = join(chat.folder, "ran.txt");
    await until("the command", () => existsSync(ran));
    await chat.panel.getByText("It begins.").waitFor();
    // Reloads immediately: the server has the conversation on disk, whatever the browser has stored.
    await chat.reload();
    await chat.showPanel();
    const words = "Interrupted: Indwell ended while this turn ran";
    await chat.panel.getByText(words).waitFor({ timeout: 60_000 });
    assert.equal(await chat.panel.locator(".ending.bad").count(), 0);
    await chat.panel.getByText("It begins.").waitFor();
    const go = chat.panel.getByRole("button", { name: "Continue", exact: true });
    await go.waitFor();
    await chat.picture("reload-interrupted-dark");
    await chat.setTheme("light");
    await chat.picture("reload-interrupted-light");
    await go.focus();
    await chat.page.keyboard.press("Enter");
    await chat.panel.getByText("It went on from there.").waitFor({ timeout: 60_000 });
    assert.equal(await go.count(), 0);
    assert.equal(readFileSync(ran, "utf8"), "ran\n");
    assert.match(
      JSON.stringify((await theModel()).requests.at(-1)),
      /Look at what is done already/,
    );
  });
});
