/**
 * Each state of the panel in themes and widths: the panel does not scroll sideways, and axe finds nothing serious.
 * The tests also take pictures.
 */
import { after, before, describe, test } from "node:test";
import type { Locator } from "playwright-core";
import type { Chat } from "../editor/chat.ts";
import { lookAt } from "../editor/look-at.ts";
import { inOrder, say } from "../editor/model-script.ts";
import { openChat, pictureFailures, theModel } from "../editor/shared.ts";
import { INVOICE, SHOP } from "../editor/shop-files.ts";
import { STATES } from "../editor/states.ts";
import { until } from "../editor/waiting.ts";

const LOOKED_AT = ["light", "contrast", "contrast-light", "dark"] as const;

function exactly(word: string): RegExp {
  return new RegExp(`^${word.replaceAll(".", "\\.")}$`);
}

function colour(place: Locator): Promise<string> {
  return place.evaluate((element) => getComputedStyle(element).color);
}

describe("the looks of the panel", () => {
  let chat: Chat;
  pictureFailures(() => chat);
  before(async () => {
    chat = await openChat({ name: "looks", files: SHOP, open: ["shop/invoice.py"] });
  });
  after(() => chat.close());

  test("code in an answer has the editor's colours in each theme", async () => {
    await chat.newSession();
    (await theModel()).on("paint", inOrder([say(`\`\`\`python\n${INVOICE}\`\`\``)]));
    await chat.ask("paint it");
    await chat.panel.locator(".code span[style]").first().waitFor();
    for (const theme of LOOKED_AT) {
      await chat.setTheme(theme);
      for (const word of ["for", "return", "class", "round", "0.0"]) {
        const inEditor = chat.page.locator(".monaco-editor .view-line span > span", {
          hasText: exactly(word),
        });
        await inEditor.first().waitFor();
        await until(`${word} to have one colour in ${theme}`, async () => {
          const inPanel = chat.panel.locator(".code span", { hasText: exactly(word) });
          const colours = [await colour(inEditor.first()), await colour(inPanel.first())];
          return colours[0] === colours[1];
        });
      }
    }
  });

  for (const [name, state] of Object.entries(STATES)) {
    if (!state.model) continue;
    test(name, async () => {
      await chat.newSession();
      await state.steps(chat);
      try {
        await lookAt(chat, name);
      } finally {
        await state.leave?.(chat);
      }
    });
  }
});
