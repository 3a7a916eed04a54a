/** Checks the looks of a state of the panel: takes pictures, and checks its width and the findings of axe. */
import assert from "node:assert/strict";
import { seriousFindings } from "./axe.ts";
import type { Chat } from "./chat.ts";
import { STATES } from "./states.ts";
import { THEMES, type Theme } from "./window.ts";

const ALL_WIDTHS = [300, 400, 800];
const ALL_THEMES = Object.keys(THEMES).filter((name): name is Theme => name in THEMES);

const PICTURED_WIDTH = 400;

/** The short form checks each state in one theme and takes one picture; test/browser always checks all themes. */
const IS_LONG = process.env["INDWELL_TEST_LONG"] !== undefined;
const STATE_NAMES = Object.keys(STATES);

/** Returns the themes for a state; in the short form each state has one, in rotation. */
function themesFor(state: string): readonly Theme[] {
  if (IS_LONG) return ALL_THEMES;
  const turn = STATE_NAMES.indexOf(state) % ALL_THEMES.length;
  return ALL_THEMES.slice(turn, turn + 1);
}

/** Returns the number of pixels by which the panel scrolls sideways. */
function sideways(chat: Chat): Promise<number> {
  return chat.panel.locator(":root").evaluate((root) => root.scrollWidth - root.clientWidth);
}

/** Checks a panel that shows a state, in several themes and widths. */
export async function lookAt(chat: Chat, state: string): Promise<void> {
  for (const theme of themesFor(state)) {
    await chat.setTheme(theme);
    for (const width of ALL_WIDTHS) {
      await chat.setPanelWidth(width);
      if (IS_LONG || width === PICTURED_WIDTH)
        await chat.picture(
          `${state}-${theme}-${width}`,
          width === PICTURED_WIDTH ? "window" : "panel",
        );
      assert.equal(await sideways(chat), 0, `${state} at ${width} px`);
    }
    await chat.setPanelWidth(PICTURED_WIDTH);
    assert.deepEqual(await seriousFindings(chat.panel), [], `${state} in ${theme}`);
  }
}
