/** The footer of the composer: menus, the context meter, Tab order and width. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { composerState } from "../scenes-composer.ts";
import { focusedClass, open, pages, postedActions, press, promptBox } from "./panel.ts";

test("the mode menu works by keyboard and returns the focus to its button", async () => {
  const state = composerState();
  const status =
    state.status === null ? null : { ...state.status, modes: ["plan", "ask", "review"] as const };
  const panel = await open({ ...state, status });
  const button = panel.page.getByRole("button", { name: "Mode: review" });
  await button.focus();
  await press(panel, "Enter");
  await panel.page.getByRole("menu").waitFor();
  await panel.page.waitForFunction(
    () => document.activeElement?.getAttribute("role") === "menuitemradio",
  );
  assert.match(
    await panel.page.evaluate(() => document.activeElement?.textContent ?? ""),
    /^review/,
  );
  await press(panel, "ArrowDown");
  assert.match(await panel.page.evaluate(() => document.activeElement?.textContent ?? ""), /^plan/);
  await press(panel, "Escape");
  assert.equal(await panel.page.getByRole("menu").count(), 0);
  assert.match(await focusedClass(panel), /mode-picker/);
  assert.deepEqual(await postedActions(panel), []);
  await press(panel, "Enter");
  await panel.page.waitForFunction(
    () => document.activeElement?.getAttribute("role") === "menuitemradio",
  );
  await press(panel, "a", "Enter");
  assert.deepEqual(await postedActions(panel), [{ type: "mode", mode: "ask" }]);
});

test("the model menu chooses a model and leads to the keys, and a click outside closes it", async () => {
  const panel = await open(composerState());
  const button = panel.page.getByRole("button", { name: "Model: qwen3-coder:30b" });
  await button.click();
  await panel.page.getByRole("menuitemradio", { name: /devstral/ }).click();
  await button.click();
  await panel.page.getByRole("menuitem", { name: "Manage keys…" }).click();
  await button.click();
  await panel.page.mouse.click(200, 100);
  assert.equal(await panel.page.getByRole("menu").count(), 0);
  assert.deepEqual(await postedActions(panel), [
    { type: "model", model: "mistralai/devstral-medium-2512" },
    { type: "command", command: "manageKeys" },
  ]);
});

test("the effort menu and /effort choose an effort, and the menu is absent for a model without efforts", async () => {
  const panel = await open(composerState());
  const button = panel.page.getByRole("button", { name: "Effort: auto" });
  await button.click();
  await panel.page.getByRole("menuitemradio", { name: /^high/ }).click();
  await button.click();
  await panel.page.getByRole("menuitemradio", { name: /^auto/ }).click();
  await promptBox(panel).click();
  await panel.page.keyboard.type("/effort lo");
  await press(panel, "Tab", "Enter");
  assert.deepEqual(await postedActions(panel), [
    { type: "effort", effort: "high" },
    { type: "effort", effort: "low" },
  ]);
  const state = composerState();
  await panel.show({ ...state, status: state.status && { ...state.status, efforts: [] } });
  await button.waitFor({ state: "detached" });
});

test("the context meter opens a dialog that shows the context's parts, keeps the focus and compacts", async () => {
  const panel = await open(composerState());
  await panel.page
    .getByRole("button", { name: /^Window: 38 % full, 12.4k of 32.8k tokens/ })
    .click();
  const dialog = panel.page.getByRole("dialog");
  await dialog.getByText("Tool descriptions").waitFor();
  await press(panel, "Tab", "Tab");
  assert.equal(await panel.page.evaluate(() => document.activeElement?.textContent), "Compact now");
  await dialog.getByRole("button", { name: "Show the request" }).click();
  await panel.page.getByRole("button", { name: /^Window/ }).click();
  await dialog.getByRole("button", { name: "Compact now" }).click();
  assert.deepEqual(await postedActions(panel), [
    { type: "command", command: "explainRequest" },
    { type: "command", command: "compact" },
  ]);
  assert.match(await focusedClass(panel), /window-meter/);
});

test("Tab moves from the text over the chips to the footer", async () => {
  const panel = await open(composerState());
  const seen: string[] = [];
  for (let count = 0; count < 7; count += 1) {
    await press(panel, "Tab");
    seen.push((await focusedClass(panel)).split(" ").at(-1) ?? "");
  }
  assert.deepEqual(seen, [
    "add-context",
    "still-chip",
    "mode-picker",
    "model-picker",
    "effort-picker",
    "window-meter",
    "send",
  ]);
});

for (const width of [300, 320, 340])
  test(`the model name 'qwen3-coder:30b' is not cut off in a panel ${width} px wide`, async () => {
    const panel = await pages.open({ width, height: 640 });
    await panel.show(composerState());
    const cut = await panel.page
      .locator(".model-picker > span:first-child")
      .evaluate((name) => name.scrollWidth - name.clientWidth);
    assert.equal(cut, 0);
  });
