/**
 * The layout of each state from 280 to 1,400 px: nothing is cut off, the page does not scroll, and lines stay readable.
 * The tests compare boxes, not pixels, so that another font or another anti-aliasing does not fail them.
 */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { type Pages, startPages } from "./page.ts";
import { emptyState, SCENES } from "./scenes.ts";
import { modelAsks } from "./scenes-work.ts";

/** German has the longest words: a state that fits in German at 280 px fits in each language. */
const SHAPES = [
  [280, "en"],
  [280, "de"],
  [400, "en"],
  [1400, "en"],
] as const;
/** The largest width of a text, in CSS pixels. */
const MAX_TEXT_WIDTH = 900;

let pages: Pages;
before(async () => {
  pages = await startPages();
});
after(() => pages.close());

for (const [width, language] of SHAPES) {
  test(`at ${width} px each state fits in language ${language}, and the page does not scroll`, async () => {
    const panel = await pages.open({ theme: "contrast", width, height: 700, language });
    const wrong: string[] = [];
    for (const [name, scene] of Object.entries(SCENES)) {
      await panel.show(scene());
      const found = await panel.page.evaluate(layoutProblems, MAX_TEXT_WIDTH);
      wrong.push(...found.map((problem) => `${name}: ${problem}`));
    }
    assert.deepEqual(wrong, []);
    assert.deepEqual(panel.consoleErrors, []);
  });
}

test("Hebrew and Arabic text runs from right to left, and code does not", async () => {
  const panel = await pages.open();
  const state = SCENES["answered"]?.();
  assert.ok(state);
  const turns = state.turns.map((turn) => ({
    ...turn,
    title: "",
    words: "תקן את העיגול ב-invoice.py",
    parts: [{ kind: "text" as const, key: "rtl", text: RTL, final: true, since: null, ms: null }],
  }));
  await panel.show({ ...state, turns });
  const directions = (selector: string) =>
    panel.page
      .locator(selector)
      .evaluateAll((found) => found.map((one) => getComputedStyle(one).direction));
  const firsts = [".prompt-words", ".md-block > p", ".md-block > ul", ".code pre"].map(
    async (selector) => (await directions(selector))[0],
  );
  assert.deepEqual(await Promise.all(firsts), ["rtl", "rtl", "rtl", "ltr"]);
  assert.deepEqual(await directions(".md-block > p"), ["rtl", "rtl", "ltr"]);
  assert.deepEqual(await directions(".md-block p code"), ["ltr", "ltr"]);
});

test("a question in Hebrew runs from right to left, and each answer has its own direction", async () => {
  const panel = await pages.open();
  const question = modelAsks({
    prompt: "איזה פתרון עדיף? (round או Decimal)",
    options: ["עיגול פעם אחת, בסוף!", "Keep it"],
  });
  await panel.show(emptyState({ questions: [question] }));
  const directions = await panel.page
    .locator(".asked-prompt, .asked-option")
    .evaluateAll((found) => found.map((one) => getComputedStyle(one).direction));
  assert.deepEqual(directions, ["rtl", "rtl", "ltr"]);
});

const RTL = `تم إصلاح التقريب.

- السطر الأول

\`total()\` מעגלת כל שורה בנפרד.

\`\`\`python
x = 1
\`\`\`

Only \`total()\` changed: תקן.
`;

/** Runs in the page. Describes each box that is cut off, scrolls sideways, is too wide or is not centred. */
function layoutProblems(maxWidth: number): readonly string[] {
  const found: string[] = [];
  const root = document.documentElement;
  const name = (element: Element) =>
    `${element.tagName.toLowerCase()}.${element.className} "${(element.textContent ?? "").slice(0, 40)}"`;
  if (root.scrollHeight > root.clientHeight || root.scrollWidth > root.clientWidth)
    found.push(`the page scrolls: ${root.scrollWidth} x ${root.scrollHeight}`);
  for (const part of document.querySelectorAll(".panel, .panel-main, .panel-foot, .question"))
    if (part.scrollWidth > part.clientWidth + 1) found.push(`it scrolls sideways: ${name(part)}`);
  // An element that scrolls sideways may contain buttons beyond its edge.
  const mayScroll = (element: Element) =>
    element.closest(".diff-lines, .code, .md-table, .sr-only, .turn-tools, .queue-actions") !==
    null;
  for (const button of document.querySelectorAll("button, input, textarea, select")) {
    const box = button.getBoundingClientRect();
    if (box.width === 0 || mayScroll(button)) continue;
    if (button.matches(".button, .link-button")) {
      const words = document.createRange();
      words.selectNodeContents(button);
      const drawn = words.getBoundingClientRect();
      if (drawn.left < box.left - 1 || drawn.right > box.right + 1)
        found.push(`its text is cut: ${name(button)}`);
    }
    if (box.left < -1 || box.right > root.clientWidth + 1)
      found.push(`it is cut off at the side: ${name(button)}`);
  }
  for (const text of document.querySelectorAll(
    ".md-block > p, .prompt-words, .prompt-text, .question, .banner, .mcp-server",
  )) {
    const box = text.getBoundingClientRect();
    if (box.width === 0) continue;
    if (box.width > maxWidth + 1) found.push(`its lines are too long: ${box.width} ${name(text)}`);
    const middle = box.left + box.width / 2;
    const isPart = text.closest(".card, .turn, .tool-body, li, blockquote") !== null;
    if (!isPart && Math.abs(middle - root.clientWidth / 2) > 8)
      found.push(`it is not in the middle: ${name(text)}`);
  }
  return found;
}
