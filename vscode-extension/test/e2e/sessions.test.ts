/** Past and background sessions in the panel and in editor tabs. */
import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import type { Locator } from "playwright-core";
import type { Chat } from "../editor/chat.ts";
import { call, say, wait } from "../editor/model-script.ts";
import { openChat, pictureFailures, theModel } from "../editor/shared.ts";
import { SHOP } from "../editor/shop-files.ts";
import { until } from "../editor/waiting.ts";

describe("sessions", () => {
  let chat: Chat;
  pictureFailures(() => chat);
  let rows: Locator;

  before(async () => {
    chat = await openChat({ name: "sessions", files: SHOP });
    rows = chat.panel.locator(".session-open");
    await chat.ask("say Apples are sorted.");
    await chat.newSession();
    await chat.ask("say Pears are counted.");
  });
  after(() => chat.close());

  const row = (words: string): Locator =>
    chat.panel.getByRole("listitem").filter({ hasText: words });

  test("are listed, the newest first", async () => {
    await chat.slash("sessions");
    await until("two rows", async () => (await rows.count()) === 2);
    assert.match((await rows.first().textContent()) ?? "", /Pears/);
  });

  test("are found by a search for their text", async () => {
    await chat.panel.getByLabel("Search sessions").fill("apples");
    await until("one row", async () => (await rows.count()) === 1);
    assert.match((await rows.first().textContent()) ?? "", /Apples/);
    await chat.panel.getByLabel("Search sessions").fill("");
    await until("two rows", async () => (await rows.count()) === 2);
  });

  test("can be renamed", async () => {
    await row("Apples").hover();
    await row("Apples")
      .getByRole("button", { name: /^Rename/ })
      .click();
    await chat.panel.getByLabel("Title of the session").fill("Fruit");
    await chat.panel.getByLabel("Title of the session").press("Enter");
    await rows.filter({ hasText: "Fruit" }).waitFor();
  });

  test("can be exported as Markdown to a file that the user chooses", async () => {
    await row("Fruit").hover();
    await row("Fruit")
      .getByRole("button", { name: /^Export/ })
      .click();
    await chat.page.locator(".quick-input-widget").getByText("OK", { exact: true }).click();
    const path = join(chat.folder, "fruit.md");
    await until(
      "the export",
      () => existsSync(path) && readFileSync(path, "utf8").includes("Apples are sorted."),
    );
  });

  test("open with a click and show their conversation", async () => {
    await rows.filter({ hasText: "Fruit" }).click();
    await chat.panel.getByText("Apples are sorted.", { exact: true }).waitFor();
    await chat.panel.getByRole("button", { name: "Fruit", exact: true }).waitFor();
  });

  test("can be forked into a new session that goes on", async () => {
    await chat.slash("sessions");
    await row("Fruit").hover();
    await row("Fruit").getByRole("button", { name: /^Fork/ }).click();
    await chat.panel.getByText("Apples are sorted.", { exact: true }).waitFor();
    await chat.ask("say Plums too.");
    await chat.slash("sessions");
    await until("three rows", async () => (await rows.count()) === 3);
  });

  test("are deleted after a confirmation", async () => {
    await row("Pears").hover();
    await row("Pears")
      .getByRole("button", { name: /^Delete/ })
      .click();
    const dialog = chat.page.locator(".monaco-dialog-box");
    await dialog.getByRole("button", { name: "Delete", exact: true }).click();
    await until("two rows", async () => (await rows.count()) === 2);
    await chat.panel.getByRole("button", { name: "Back to the conversation" }).click();
  });

  test("keep running in the background, are marked as running, and show their whole turn when reopened", async () => {
    const model = await theModel();
    let release: () => void = () => {};
    const released = new Promise<void>((resolve) => {
      release = resolve;
    });
    model.on("slow", (_round, rest) => [say("First half. "), wait(released), say(rest)]);
    await chat.newSession();
    await chat.send("slow Second half.");
    await chat.panel.getByText("First half.").waitFor();
    await chat.newSession();
    const others = chat.panel.locator(".others-row");
    await until("a line for the session that runs", async () =>
      /Running.*slow Second half/.test((await others.allTextContents()).join(" ")),
    );
    await chat.ask("say Meanwhile.");
    assert.match((await others.textContent()) ?? "", /Running/);
    await chat.slash("sessions");
    await row("slow Second half").getByText("Running").waitFor();
    await chat.picture("sessions-running");
    await rows.filter({ hasText: "slow Second half" }).click();
    await chat.panel.getByText("First half.").waitFor();
    await chat.panel.getByRole("button", { name: "Stop" }).waitFor();
    release();
    await chat.panel.getByText("First half. Second half.", { exact: true }).waitFor();
    await chat.idle();
  });

  test("ask from the background: a line and a badge appear, and a notification leads to the waiting question", async () => {
    const model = await theModel();
    let release: () => void = () => {};
    const released = new Promise<void>((resolve) => {
      release = resolve;
    });
    model.on("later", (round, rest) =>
      round === 0
        ? [wait(released), call("bash", { command: rest, unsandboxed: true, why: "it must" })]
        : [say("Understood.")],
    );
    await chat.newSession();
    await chat.send("later rm -f gone.txt");
    await until("the turn", async () => (await chat.panel.locator("article.turn").count()) === 1);
    await chat.newSession();
    await chat.ask("say Something else.");
    release();
    const line = chat.panel.locator(".others-row.asking");
    const badge = chat.page.locator(".activitybar [aria-label='Indwell - Indwell asks'] > .badge");
    await line.waitFor();
    assert.equal(await chat.permission.count(), 0);
    await badge.getByText("1", { exact: true }).waitFor();
    await chat.picture("sessions-asking");
    // The list also has notifications that have disappeared.
    await chat.command("notifications.showList");
    const notice = chat.page
      .locator(".notifications-center .notification-list-item")
      .filter({ hasText: "later rm" });
    await notice.getByRole("button", { name: "Show" }).click();
    await chat.panel.locator(".prompt-words", { hasText: "later rm -f gone.txt" }).waitFor();
    await chat.answer("No");
    await chat.idle();
    await chat.panel.getByText("Understood.", { exact: true }).waitFor();
    await badge.waitFor({ state: "detached" }); // without a question, the icon has its plain label
  });

  describe("in editor tabs", () => {
    const label = (words: string): Locator =>
      chat.page.getByRole("tab", { name: words, exact: true });

    test("open from the list, stream beside the panel, and show the same turn in both", async () => {
      const model = await theModel();
      let release: () => void = () => {};
      const released = new Promise<void>((resolve) => {
        release = resolve;
      });
      model.on("tabbed", (_round, rest) => [say("Begun. "), wait(released), say(rest)]);
      await chat.slash("sessions");
      await row("Fruit").first().hover();
      await row("Fruit")
        .first()
        .getByRole("button", { name: /^Open in Editor/ })
        .click();
      await label("Fruit").waitFor();
      const { tab } = chat;
      await tab.getByText("Apples are sorted.", { exact: true }).waitFor();
      const box = tab.getByLabel("Prompt", { exact: true });
      await box.fill("tabbed All of it.");
      await box.press("Enter");
      await tab.getByText("Begun.").waitFor();
      await chat.picture("tab-running");
      // Meanwhile the panel works on its own session; then it shows the session of the tab.
      await chat.ask("say In the panel.");
      await chat.slash("sessions");
      await rows.filter({ hasText: "Fruit" }).first().click();
      await chat.panel.getByText("Begun.").waitFor();
      release();
      await tab.getByText("Begun. All of it.", { exact: true }).waitFor();
      await chat.panel.getByText("Begun. All of it.", { exact: true }).waitFor();
    });

    test("are restored after a reload, with the typed text", async () => {
      await chat.tab.getByLabel("Prompt", { exact: true }).fill("typed in the tab");
      await until("the tab to be stored", async () => {
        const stored = (await chat.stored()).join(" ");
        return (
          stored.includes("mainThreadWebview-indwell.session") &&
          stored.includes("typed in the tab")
        );
      });
      await chat.reload();
      await label("Fruit").waitFor();
      await chat.tab.getByText("Begun. All of it.", { exact: true }).waitFor();
      await until(
        "the typed text",
        async () =>
          (await chat.tab.getByLabel("Prompt", { exact: true }).inputValue()) ===
          "typed in the tab",
      );
      await chat.picture("tab-restored");
    });

    test("start a new session whose turn continues when the tab is closed", async () => {
      const model = await theModel();
      let release: () => void = () => {};
      const released = new Promise<void>((resolve) => {
        release = resolve;
      });
      model.on("closed", (_round, rest) => [say("Working. "), wait(released), say(rest)]);
      await chat.command("indwell.newSessionInEditor");
      await label("New Session").waitFor();
      const { tab } = chat;
      const box = tab.getByLabel("Prompt", { exact: true });
      await box.fill("closed To the end.");
      await box.press("Enter");
      await tab.getByText("Working.").waitFor();
      await chat.command("workbench.action.closeActiveEditor");
      release();
      await chat.showPanel();
      await chat.slash("sessions");
      await rows.filter({ hasText: "closed To the end." }).first().click();
      await chat.panel.getByText("Working. To the end.", { exact: true }).waitFor();
    });
  });
});
