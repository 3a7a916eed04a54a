/** The panel that all tests of questions share, and helpers for its cards. */
import { after, before } from "node:test";
import type { ToHost } from "../../../src/shared/messages.ts";
import type { PanelState, Question } from "../../../src/shared/state/state.ts";
import { ARMING_MS } from "../../../src/webview/questions/arming.ts";
import { type Pages, type Panel, startPages } from "../page.ts";
import { emptyState, turn } from "../scenes.ts";

const SIZE = { width: 400, height: 800 };

let pages: Pages;
/** All tests share one panel and advance its clock, because loading a panel and waiting would take most of the time. */
export let panel: Panel;
before(async () => {
  pages = await startPages();
  panel = await pages.open({ ...SIZE, keepOpen: true, clock: true });
});
after(() => pages.close());

export const running = (...questions: readonly Question[]): PanelState =>
  emptyState({ turns: [turn(1, { ending: "running" })], questions });

/** Advances the clock of the page, without waiting. */
export const advance = (milliseconds: number) => panel.page.clock.fastForward(milliseconds);

export const composer = () =>
  panel.page.locator(".composer textarea, .composer [contenteditable]").first();

/** Resets the panel: no question, no typed text, no posted message, no recent key. Its page gets the focus. */
export async function resetPanel(size = SIZE): Promise<void> {
  const { page } = panel;
  await page.setViewportSize(size);
  await page.bringToFront();
  await panel.show(running());
  await composer().fill("");
  await page.evaluate(() => {
    if (document.activeElement instanceof HTMLElement) document.activeElement.blur();
    Reflect.get(window, "__posted").length = 0;
  });
  await advance(2 * ARMING_MS);
}

/** Resets the panel and shows questions, which may take the focus. */
export async function showQuestions(...questions: readonly Question[]): Promise<void> {
  await resetPanel();
  await panel.show(running(...questions));
}

/** Advances the clock until the card takes answers. */
export async function waitUntilArmed(): Promise<void> {
  await advance(ARMING_MS);
  await panel.page.locator('.question[data-armed="true"]').waitFor();
}

/** Presses a key when the card has the focus and takes answers. */
export async function pressWhenArmed(key: string): Promise<void> {
  await panel.page.locator(".question :focus").waitFor();
  await waitUntilArmed();
  await panel.page.keyboard.press(key);
}

export async function postedAnswers(): Promise<readonly ToHost[]> {
  return (await panel.posted()).filter((one) => one.type === "answer" || one.type === "said");
}

/** Clicks a button of the card, also while it is disabled. */
export const clickAnswer = (label: string) =>
  panel.page.locator(".answers button", { hasText: label }).click({ force: true });

export const focusedText = () =>
  panel.page.evaluate(() => document.activeElement?.textContent?.trim() ?? "");
