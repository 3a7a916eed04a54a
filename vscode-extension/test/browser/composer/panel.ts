/** Opens panels with a composer, in one browser for all tests of the composer, and acts on them. */
import { after, before } from "node:test";
import type { ToHost } from "../../../src/shared/messages.ts";
import type { PanelState } from "../../../src/shared/state/state.ts";
import { type Pages, type Panel, startPages } from "../page.ts";

export let pages: Pages;
before(async () => {
  pages = await startPages();
});
after(() => pages.close());

export async function open(state: PanelState, typed = ""): Promise<Panel> {
  const panel = await pages.open({ width: 400, height: 640 });
  await panel.show(state, typed);
  await panel.page.locator(".prompt-text").focus();
  return panel;
}

export const promptBox = (panel: Panel) => panel.page.locator(".prompt-text");
export const text = (panel: Panel) => promptBox(panel).inputValue();
export const press = async (panel: Panel, ...names: string[]) => {
  for (const name of names) await panel.page.keyboard.press(name);
};
/** The posted messages except `ready`, `typed` and `find`. */
export const postedActions = async (panel: Panel): Promise<readonly ToHost[]> =>
  (await panel.posted()).filter((one) => !["ready", "typed", "find"].includes(one.type));
export const focusedClass = (panel: Panel) =>
  panel.page.evaluate(() => document.activeElement?.className ?? "");
