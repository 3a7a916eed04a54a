/** The composer while a turn runs: stopping, steering and the queue of prompts. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { busyState, chips } from "../scenes-composer.ts";
import { open, postedActions, press, text } from "./panel.ts";

test("Escape closes an open list first, and then stops the running turn", async () => {
  const panel = await open(busyState());
  await panel.page.keyboard.type("/");
  await panel.page.locator("[role=listbox]").waitFor();
  await press(panel, "Escape");
  assert.equal(await panel.page.locator("[role=listbox]").count(), 0);
  assert.deepEqual(await postedActions(panel), []);
  await panel.page.keyboard.type("m");
  assert.equal(await panel.page.locator("[role=listbox]").count(), 0);
  await press(panel, "Escape");
  assert.deepEqual(await postedActions(panel), [{ type: "stop" }]);
  assert.equal(await text(panel), "/m");
});

test("while a turn runs, Enter steers it and Ctrl+Enter sends next; a prompt with attachments is sent next", async () => {
  const panel = await open(busyState());
  await panel.page.keyboard.type("a");
  await press(panel, "Enter");
  await panel.page.getByText("At the next step: a").waitFor();
  await panel.page.keyboard.type("b");
  await press(panel, "Control+Enter");
  await panel.show(busyState({ attachments: chips.slice(2, 3) }));
  await panel.page.keyboard.type("c");
  assert.ok(await panel.page.getByRole("button", { name: "Steer" }).isDisabled());
  await press(panel, "Enter");
  await panel.show(busyState());
  await panel.page.keyboard.type("d");
  await panel.page.getByRole("button", { name: "Next", exact: true }).click();
  await panel.page.keyboard.type("e");
  await panel.page.getByRole("button", { name: "Steer" }).click();
  await panel.page.getByRole("button", { name: "Stop" }).click();
  assert.deepEqual(
    (await postedActions(panel)).map((one) =>
      one.type === "send" ? [one.text, one.how] : one.type,
    ),
    [["a", "steer"], ["b", "next"], ["c", "next"], ["d", "next"], ["e", "steer"], "stop"],
  );
});

test("queued prompts can be edited, moved, removed, held and resumed", async () => {
  const panel = await open(busyState());
  const click = (name: RegExp) =>
    panel.page.getByRole("button", { name }).first().click({ force: true });
  await panel.page.locator(".queue-row").first().hover();
  await click(/^Change: Update/);
  await panel.page.keyboard.type(" too");
  await press(panel, "Enter");
  await panel.page.locator(".queue-row").first().hover();
  await click(/^Move down: Update/);
  await panel.page.locator(".queue-row").nth(1).hover();
  await click(/^Remove: Write/);
  await click(/^Hold$/);
  await panel.show(busyState({ queue: { ...busyState().queue, held: "the turn was stopped" } }));
  await panel.page.getByText("held: the turn was stopped").waitFor();
  await click(/^Resume$/);
  const words = "Update the tests for the new rounding, and add one for refunds too";
  assert.deepEqual(await postedActions(panel), [
    { type: "queue", action: "edit", id: "q1", to: null, text: words },
    { type: "queue", action: "move", id: "q1", to: 1, text: null },
    { type: "queue", action: "remove", id: "q2", to: null, text: null },
    { type: "queue", action: "hold", id: null, to: null, text: null },
    { type: "queue", action: "resume", id: null, to: null, text: null },
  ]);
});

test("the edited text of a queued prompt moves to the composer if the prompt starts meanwhile", async () => {
  const panel = await open(busyState());
  await panel.page.locator(".queue-row").first().hover();
  await panel.page.getByRole("button", { name: /^Change: Update/ }).click();
  await panel.page.keyboard.type(" too");
  await panel.show(busyState({ queue: { seq: 4, held: "", waiting: [] } }));
  assert.match(await text(panel), /refunds too$/);
});
