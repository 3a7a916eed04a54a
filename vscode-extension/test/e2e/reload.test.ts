/** The window is reloaded in the middle of a turn: the panel says so in place, and Continue goes on. */
import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import type { Chat } from "../editor/chat.ts";
import { call, inOrder, say } from "../editor/model-script.ts";
import { keepPictures, openChat, theModel } from "../editor/shared.ts";
import { SHOP } from "../editor/shop-files.ts";
import { until } from "../editor/waiting.ts";

describe("a reload in the middle of a turn", () => {
  let chat: Chat;
  keepPictures(() => chat);
  before(async () => {
    chat = await openChat({ name: "reload", files: SHOP });
    const model = await theModel();
    const slow = { command: "echo ran >> ran.txt; sleep 300" };
    model.on("interrupt", inOrder([say("It begins."), call("bash", slow)]));
    model.on("Continue", inOrder([say("It went on from there.")]));
  });
  after(() => chat.close());

  test("is said in the same words at once and in history; Continue goes on, and nothing runs twice", async () => {
    await chat.send("interrupt Do it");
    const ran = join(chat.folder, "ran.txt");
    await until("the command", () => existsSync(ran));
    // What the panel shows of the session, VS Code has taken to remember.
    await chat.panel.getByText("It begins.").waitFor();
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
