/** Every state of the panel in themes and widths: a picture, nothing wider than the panel, and nothing that axe calls serious. */
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { seriousFindings } from "../editor/axe.ts";
import type { Chat } from "../editor/chat.ts";
import { keepPictures, openChat, openFirstRun } from "../editor/shared.ts";
import { SHOP } from "../editor/shop-files.ts";
import { STATES } from "../editor/states.ts";
import { THEMES, type Theme } from "../editor/window.ts";

const ALL_WIDTHS = [300, 400, 800];
const ALL_THEMES = Object.keys(THEMES).filter((name): name is Theme => name in THEMES);

/** The short form looks at three themes, and at the other widths in one of them. */
const IS_LONG = process.env["INDWELL_TEST_LONG"] !== undefined;
const SHORT_THEMES: readonly Theme[] = ["light", "contrast", "dark"];
const themes = IS_LONG ? ALL_THEMES : SHORT_THEMES;

function widths(theme: Theme): readonly number[] {
  return IS_LONG || theme === "dark" ? ALL_WIDTHS : [400];
}

/** Pixels by which the panel scrolls sideways. */
function sideways(chat: Chat): Promise<number> {
  return chat.panel.locator(":root").evaluate((root) => root.scrollWidth - root.clientWidth);
}

async function lookAt(chat: Chat, state: string): Promise<void> {
  for (const theme of themes) {
    await chat.setTheme(theme);
    for (const width of widths(theme)) {
      await chat.setPanelWidth(width);
      await chat.picture(`${state}-${theme}-${width}`, width === 400 ? "window" : "panel");
      assert.equal(await sideways(chat), 0, `${state} at ${width} px`);
    }
    await chat.setPanelWidth(400);
    assert.deepEqual(await seriousFindings(chat.panel), [], `${state} in ${theme}`);
  }
}

describe("the looks of the panel", () => {
  let chat: Chat;
  keepPictures(() => chat);
  before(async () => {
    chat = await openChat({ name: "looks", files: SHOP, open: ["shop/invoice.py"] });
  });
  after(() => chat.close());

  for (const [name, state] of Object.entries(STATES)) {
    if (!state.model) continue;
    test(name, async () => {
      await chat.fresh();
      await state.steps(chat);
      try {
        await lookAt(chat, name);
      } finally {
        await state.leave?.(chat);
      }
    });
  }
});

describe("the looks of the first run", () => {
  test("first-run", async () => {
    const chat = await openFirstRun({ name: "first-looks", files: SHOP });
    await STATES["first-run"]?.steps(chat);
    await lookAt(chat, "first-run");
    await chat.close();
  });
});
