/** Typing while a card is shown: the composer keeps the focus, and stray letters answer nothing. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { ARMING_MS } from "../../../src/webview/questions/arming.ts";
import { permission } from "../scenes-questions.ts";
import {
  advance,
  composer,
  focusedText,
  panel,
  postedAnswers,
  resetPanel,
  running,
  showQuestions,
  waitUntilArmed,
} from "./panel.ts";

test("UI-12 a question does not take the focus from the composer while the user types, and the letters and Enter answer nothing", async () => {
  await resetPanel();
  const field = composer();
  await field.focus();
  await panel.page.keyboard.type("half a sen");
  await panel.show(running(permission()));
  await panel.page.keyboard.type("tence no");
  await waitUntilArmed();
  await panel.page.keyboard.type("o s a n");
  await panel.page.keyboard.press("Enter");
  assert.deepEqual(await postedAnswers(), []);
  const sent = (await panel.posted()).flatMap((one) => (one.type === "send" ? [one.text] : []));
  assert.deepEqual(sent, ["half a sentence noo s a n"]);
  assert.equal(await field.evaluate((element) => element.contains(document.activeElement)), true);
  // The first button of the card is No.
  await panel.page.locator(".question .answers button").first().focus();
  assert.equal(await focusedText(), "No");
});

test("UI-12 a letter answers nothing right after an armed card gets the focus, and answers 500 ms later", async () => {
  await resetPanel();
  await composer().focus();
  await panel.show(running(permission()));
  await waitUntilArmed();
  const press = () =>
    panel.page.evaluate(() => {
      const no = document.querySelector<HTMLElement>(".question .answers button");
      no?.focus();
      no?.dispatchEvent(new KeyboardEvent("keydown", { key: "o", bubbles: true }));
    });
  await press();
  assert.deepEqual(await postedAnswers(), []);
  await advance(ARMING_MS);
  await press();
  assert.equal((await postedAnswers()).length, 1);
});

for (const words of ["Stop", "only look, change nothing", "stop and no"])
  for (const pause of [100, 1_000, 3_000])
    test(`UI-12 "${words}" typed ${pause} ms after a card appears goes to the composer and answers nothing`, async () => {
      await resetPanel();
      const field = composer();
      await field.focus();
      await advance(1_100);
      await panel.show(running(permission()));
      await advance(pause);
      await panel.page.keyboard.type(words);
      assert.deepEqual(await postedAnswers(), []);
      assert.equal(await field.inputValue(), words);
    });

test("UI-12 a letter answers nothing right after another letter, with Shift, or as a repeat of a held key", async () => {
  await showQuestions(permission());
  await waitUntilArmed();
  await panel.page.keyboard.type("xo", { delay: 20 });
  await waitUntilArmed();
  await panel.page.keyboard.press("Shift+S");
  await waitUntilArmed();
  await panel.page.evaluate(() =>
    document.activeElement?.dispatchEvent(
      new KeyboardEvent("keydown", { key: "o", bubbles: true, repeat: true }),
    ),
  );
  assert.deepEqual(await postedAnswers(), []);
});

test("UI-12 Shift+Tab from the composer and Tab from the conversation reach the No button first", async () => {
  await resetPanel();
  const first = panel.page.locator(".composer button, .composer textarea").first();
  await first.focus();
  await panel.show(running(permission()));
  const outside = () =>
    panel.page.evaluate(() => document.activeElement?.closest(".question") === null);
  for (let presses = 0; presses < 5 && (await outside()); presses += 1)
    await panel.page.keyboard.press("Shift+Tab");
  assert.equal(await focusedText(), "No");
  for (let presses = 0; presses < 5 && !(await outside()); presses += 1)
    await panel.page.keyboard.press("Shift+Tab");
  assert.equal(await outside(), true);
  await panel.page.keyboard.press("Tab");
  assert.equal(await focusedText(), "No");
});
