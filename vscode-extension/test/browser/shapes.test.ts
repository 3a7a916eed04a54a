/**
 * The shape of every state from 280 px to a wide screen: nothing is cut off, nothing scrolls twice, lines stay readable.
 * Boxes are compared, not pixels, so that no other font or smoothing of letters can fail a test.
 */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { type Pages, startPages } from "./page.ts";
import { SCENES } from "./scenes.ts";

const WIDTHS = [280, 400, 1400];
/** Text is no wider than this. */
const READING = 900;

let pages: Pages;
before(async () => {
  pages = await startPages();
});
after(() => pages.close());

for (const width of WIDTHS) {
  test(`at ${width} px every state fits, and the page itself does not scroll`, async () => {
    const panel = await pages.open({ theme: "contrast", width, height: 700 });
    const wrong: string[] = [];
    for (const [name, scene] of Object.entries(SCENES)) {
      await panel.show(scene());
      const found = await panel.page.evaluate(faults, READING);
      wrong.push(...found.map((fault) => `${name}: ${fault}`));
    }
    assert.deepEqual(wrong, []);
    assert.deepEqual(panel.complaints, []);
  });
}

/** Runs in the page: what is wrong with the boxes that are drawn. */
function faults(most: number): readonly string[] {
  const found: string[] = [];
  const root = document.documentElement;
  const name = (element: Element) =>
    `${element.tagName.toLowerCase()}.${element.className} "${(element.textContent ?? "").slice(0, 40)}"`;
  if (root.scrollHeight > root.clientHeight || root.scrollWidth > root.clientWidth)
    found.push(`the page scrolls: ${root.scrollWidth} x ${root.scrollHeight}`);
  for (const part of document.querySelectorAll(".panel, .panel-main, .panel-foot, .question"))
    if (part.scrollWidth > part.clientWidth + 1) found.push(`it scrolls sideways: ${name(part)}`);
  // A list of lines that scrolls to the side may hold buttons beyond its edge.
  const mayScroll = (element: Element) =>
    element.closest(".diff-lines, .code, .md-table, .sr-only, .turn-tools, .queue-actions") !==
    null;
  for (const button of document.querySelectorAll("button, input, textarea, select")) {
    const box = button.getBoundingClientRect();
    if (box.width === 0 || mayScroll(button)) continue;
    if (box.left < -1 || box.right > root.clientWidth + 1)
      found.push(`it is cut off at the side: ${name(button)}`);
  }
  for (const text of document.querySelectorAll(
    ".md-block > p, .prompt-words, .prompt-text, .question, .banner, .mcp-server",
  )) {
    const box = text.getBoundingClientRect();
    if (box.width === 0) continue;
    if (box.width > most + 1) found.push(`its lines are too long: ${box.width} ${name(text)}`);
    const middle = box.left + box.width / 2;
    const isPart = text.closest(".card, .turn, .tool-body, li, blockquote") !== null;
    if (!isPart && Math.abs(middle - root.clientWidth / 2) > 8)
      found.push(`it is not in the middle: ${name(text)}`);
  }
  return found;
}
