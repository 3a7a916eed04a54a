/** Past sessions: found, opened, renamed, forked, exported, deleted; all from the panel. */
import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import type { Locator } from "playwright-core";
import type { Chat } from "../editor/chat.ts";
import { keepPictures, openChat } from "../editor/shared.ts";
import { SHOP } from "../editor/shop-files.ts";
import { until } from "../editor/waiting.ts";

describe("sessions", () => {
  let chat: Chat;
  keepPictures(() => chat);
  let rows: Locator;

  before(async () => {
    chat = await openChat({ name: "sessions", files: SHOP });
    rows = chat.panel.locator(".session-open");
    await chat.ask("say Apples are sorted.");
    await chat.fresh();
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

  test("are found by words of the user", async () => {
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

  test("can be exported as Markdown, where the user says", async () => {
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

  test("open with a click, with all that was said", async () => {
    await rows.filter({ hasText: "Fruit" }).click();
    await chat.panel.getByText("Apples are sorted.", { exact: true }).waitFor();
    await chat.panel.getByRole("button", { name: "Fruit", exact: true }).waitFor();
  });

  test("fork into a new one that goes on from there", async () => {
    await chat.slash("sessions");
    await row("Fruit").hover();
    await row("Fruit").getByRole("button", { name: /^Fork/ }).click();
    await chat.panel.getByText("Apples are sorted.", { exact: true }).waitFor();
    await chat.ask("say Plums too.");
    await chat.slash("sessions");
    await until("three rows", async () => (await rows.count()) === 3);
  });

  test("are deleted after a question", async () => {
    await row("Pears").hover();
    await row("Pears")
      .getByRole("button", { name: /^Delete/ })
      .click();
    const dialog = chat.page.locator(".monaco-dialog-box");
    await dialog.getByRole("button", { name: "Delete", exact: true }).click();
    await until("two rows", async () => (await rows.count()) === 2);
    await chat.panel.getByRole("button", { name: "Back to the conversation" }).click();
  });
});
