/** The first run without a model: a local model server is found, tested and used, and the prompt is sent. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { after, before, describe, test } from "node:test";
import type { Chat } from "../editor/chat.ts";
import { lookAt } from "../editor/look-at.ts";
import { openFirstRun, pictureFailures, theModel, theWorkbench } from "../editor/shared.ts";
import { SHOP } from "../editor/shop-files.ts";
import { until } from "../editor/waiting.ts";

/** Time-out of the second window, in milliseconds. */
const PATIENCE_MS = 60_000;

describe("a provider with a key", () => {
  const KEY = "sk-a-key-of-the-tests-0123456789";
  let chat: Chat;
  pictureFailures(() => chat);
  before(async () => {
    chat = await openFirstRun({ name: "keyed", files: SHOP });
    (await theModel()).requireKey(KEY);
  });
  after(async () => {
    (await theModel()).requireKey(null);
    await chat.close();
  });

  test("is tested, and a wrong key shows an error about the key", async () => {
    const model = await theModel();
    await chat.send("say The key works.");
    await chat.panel.getByLabel("Provider").selectOption({ label: "Another address…" });
    await chat.panel.getByRole("textbox", { name: "Address" }).fill(model.url);
    await chat.panel.getByLabel(/^Key/).fill("sk-wrong");
    await chat.panel.getByRole("button", { name: "Test and connect" }).click();
    await chat.panel.getByLabel("How the test went").getByText(/key/i).first().waitFor();
  });

  test("is used with the right key, which is in no file and is kept when the server restarts", async () => {
    await chat.panel.getByRole("textbox", { name: "Address" }).fill((await theModel()).url);
    await chat.panel.getByLabel(/^Key/).fill(KEY);
    await chat.panel.getByRole("button", { name: "Test and connect" }).click();
    const field = chat.panel.getByLabel("Model", { exact: true });
    const goOn = chat.panel.getByRole("button", { name: /^Go on with/ });
    await field.or(goOn).first().waitFor();
    if (await field.isVisible()) {
      await field.selectOption("coder-large");
      await chat.panel.getByRole("button", { name: "Use", exact: true }).last().click();
    }
    await goOn
      .or(chat.panel.getByText("The key works.", { exact: true }))
      .first()
      .waitFor();
    if (await goOn.isVisible()) await goOn.click();
    await chat.panel.getByText("The key works.", { exact: true }).waitFor();
    await chat.command("indwell.restartServer");
    await chat.ask("say It still works.");
    await chat.panel.getByText("It still works.", { exact: true }).waitFor();
    const { place } = await theWorkbench();
    const found = spawnSync("grep", ["-rl", "--exclude-dir=extensions", KEY, place.root], {
      encoding: "utf8",
    });
    assert.equal(found.stdout, "");
  });
});

describe("the first run", () => {
  let chat: Chat;
  pictureFailures(() => chat);
  before(async () => {
    chat = await openFirstRun({ name: "first-run", files: SHOP });
  });
  after(() => chat.close());

  test("offers a demo without a key, which opens a sample project in a second window", async () => {
    const opening = chat.page.context().waitForEvent("page");
    await chat.panel.getByRole("button", { name: "Try without a key" }).click();
    const page = await opening;
    page.setDefaultTimeout(PATIENCE_MS);
    const panel = page.frameLocator("iframe.webview.ready").frameLocator("#active-frame");
    await panel.getByText("Demo: a script answers, no language model.").waitFor();
    await panel.getByRole("button", { name: "Fix this", exact: true }).click();
    await panel.getByText(/^It was .* it is now/).waitFor();
    await panel.getByRole("button", { name: "Accept" }).first().click();
    await panel.getByRole("button", { name: "Connect a model" }).waitFor();
    await page.close({ runBeforeUnload: false });
  });

  test("begins with the first prompt, and restores the prompt after Not now", async () => {
    await chat.send("say It goes on.");
    await chat.panel.getByRole("heading", { name: "Connect a model" }).waitFor();
    await chat.panel.getByText("Ollama").first().waitFor();
    await lookAt(chat, "first-run");
    await chat.panel.getByRole("button", { name: "Not now" }).click();
    await until("the prompt", async () => (await chat.composer.inputValue()) === "say It goes on.");
  });

  test("connects a local model and sends the waiting prompt", async () => {
    await chat.composer.press("Enter");
    await chat.panel.getByRole("button", { name: "Use", exact: true }).first().click();
    const goOn = chat.panel.getByRole("button", { name: /^Go on with/ });
    await goOn
      .or(chat.panel.getByText("It goes on.", { exact: true }))
      .first()
      .waitFor();
    if (await goOn.isVisible()) await goOn.click();
    await chat.panel.getByText("It goes on.", { exact: true }).waitFor();
    await chat.idle();
  });

  test("requests nothing outside this machine", async () => {
    assert.deepEqual((await theWorkbench()).outside, []);
  });
});
