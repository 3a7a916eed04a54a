/** The arming time of a card: input that comes before its end answers nothing. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Question } from "../../../src/shared/state/state.ts";
import { permission } from "../scenes-questions.ts";
import {
  focusedText,
  panel,
  postedAnswers,
  pressWhenArmed,
  resetPanel,
  running,
  showQuestions,
  waitUntilArmed,
} from "./panel.ts";

test("UI-12 the No button has the focus, and a key or click within 500 ms answers nothing", async () => {
  await resetPanel();
  // Acts from within the page: on a slow machine, a key from the test could come after 500 ms.
  await panel.page.evaluate(() => {
    const seen = new MutationObserver(() => {
      if (document.querySelector(".question") === null) return;
      seen.disconnect();
      requestAnimationFrame(() => {
        const press = { key: "o", bubbles: true };
        document.activeElement?.dispatchEvent(new KeyboardEvent("keydown", press));
        for (const one of document.querySelectorAll<HTMLElement>(".answers button")) one.click();
      });
    });
    seen.observe(document.body, { childList: true, subtree: true });
  });
  await panel.show(running(permission()));
  assert.equal(await focusedText(), "No");
  await waitUntilArmed();
  assert.deepEqual(await postedAnswers(), []);
  await pressWhenArmed("o");
  assert.deepEqual(await postedAnswers(), [
    { type: "answer", nonce: "n1", answer: "once", hunks: null },
  ]);
});

/**
 * Does `act` as soon as a card has the focus, and returns the notice that the card shows then. Acts from within the
 * page: on a slow machine, a key from the test could come after 500 ms. `draft` is typed into the card's field first.
 */
function actEarly(act: "n" | "click" | "Enter" | "Escape", draft = ""): Promise<string> {
  return panel.page.evaluate(
    async ([what, words]) => {
      const frame = () => new Promise((next) => requestAnimationFrame(next));
      const until = async (isSo: () => boolean) => {
        for (let tries = 0; tries < 1_000 && !isSo(); tries += 1) await frame();
      };
      const notice = () => document.querySelector(".question .answers-early")?.textContent ?? "";
      await until(() => document.activeElement?.closest(".question") != null);
      const field = document.querySelector<HTMLInputElement>(".question .field");
      if (field !== null && words !== "") {
        field.value = words;
        field.dispatchEvent(new Event("input", { bubbles: true }));
        const send = document.querySelector(".question [type=submit]");
        await until(() => send?.getAttribute("aria-disabled") === "false");
      }
      if (what === "click") document.querySelector<HTMLElement>(".answers button")?.click();
      else if (what === "Enter") field?.form?.requestSubmit();
      else {
        const press = { key: what, bubbles: true };
        document.activeElement?.dispatchEvent(new KeyboardEvent("keydown", press));
      }
      await until(() => notice() !== "");
      return notice();
    },
    [act, draft] as const,
  );
}

for (const [act, words] of [
  ["n", "N came too early and answered nothing. Press N again."],
  ["click", "The click came too early and answered nothing. Click again."],
] as const)
  test(`UI-12 before a card is armed, '${act}' answers nothing, and a status message says so`, async () => {
    await resetPanel();
    const shown = actEarly(act);
    await panel.show(running(permission()));
    assert.equal(await shown, words);
    assert.equal(await panel.page.locator(".answers-early[role=status]").count(), 1);
    assert.deepEqual(await postedAnswers(), []);
    // The buttons must not move under the pointer.
    const box = () => panel.page.locator(".answers button").first().boundingBox();
    const before = await box();
    await pressWhenArmed("n");
    assert.deepEqual(await box(), before);
    assert.deepEqual(await postedAnswers(), [
      { type: "answer", nonce: "n1", answer: "no", hunks: null },
    ]);
  });

test("UI-12 a card says that keys will work in a moment, and lists its keys when it is armed", async () => {
  await resetPanel();
  await panel.page.evaluate(() => {
    const all: string[] = [];
    Object.assign(window, { hints: all });
    new MutationObserver(() => {
      const words = document.querySelector(".hint-inside")?.textContent ?? "";
      if (words !== "" && all.at(-1) !== words) all.push(words);
    }).observe(document.body, { childList: true, subtree: true, characterData: true });
  });
  await panel.show(running(permission()));
  await waitUntilArmed();
  await panel.page.getByText("Keys: N, O, S, A").waitFor();
  const hints = await panel.page.evaluate(() => Reflect.get(window, "hints"));
  assert.deepEqual(hints, ["Ready for keys in a moment", "Keys: N, O, S, A"]);
});

for (const act of ["Enter", "Escape"] as const)
  test(`UI-12 before a question of the model is armed, ${act} does not answer it and keeps the typed text`, async () => {
    await resetPanel();
    const shown = actEarly(act, "b = 2");
    const question: Question = {
      kind: "ask",
      nonce: "n9",
      prompt: "Which one?",
      placeholder: "",
      by: "model",
      options: [],
    };
    await panel.show(running(question));
    assert.match(await shown, new RegExp(`^${act} came too early`));
    assert.deepEqual(await postedAnswers(), []);
    assert.equal(await panel.page.locator(".question .field").inputValue(), "b = 2");
  });

test("UI-12 each key before a card is armed restarts the arming time", async () => {
  await showQuestions(permission());
  // The page times the key presses, so that less than 500 ms pass between two of them.
  const wasArmed = await panel.page.evaluate(async () => {
    const card = document.querySelector(".question");
    for (let press = 0; press < 8; press += 1) {
      document.activeElement?.dispatchEvent(
        new KeyboardEvent("keydown", { key: "x", bubbles: true }),
      );
      await new Promise((done) => setTimeout(done, 100));
    }
    return card?.getAttribute("data-armed");
  });
  assert.equal(wasArmed, "false");
  assert.deepEqual(await postedAnswers(), []);
});
