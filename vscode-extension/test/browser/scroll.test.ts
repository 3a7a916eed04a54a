/** The conversation keeps its scroll position, and finished blocks are not drawn again. */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { Page } from "playwright-core";
import type { Action } from "../../src/shared/state/action.ts";
import { type Pages, type Panel, startPages, THEMES } from "./page.ts";
import { emptyState, text, turn } from "./scenes.ts";
import { longSession } from "./stream-frames.ts";

let pages: Pages;
before(async () => {
  pages = await startPages();
});
after(() => pages.close());

let seq = 0;
function turnStarted(number: number): Action {
  seq += 1;
  const event = {
    type: "turnStarted",
    agent: "",
    turn: number,
    title: "",
    words: "Go on",
    model: "m",
    attached: [],
    mode: "review",
  } as const;
  return { type: "event", session: "s1", seq, at: 0, event };
}
function textDelta(number: number, words: string): Action {
  seq += 1;
  return {
    type: "event",
    session: "s1",
    seq,
    at: 0,
    event: { type: "text", turn: number, text: words, restart: false, agent: "" },
  };
}

async function streaming(messages: number): Promise<Panel> {
  seq = 0;
  const panel = await pages.open({ width: 400, height: 700 });
  await panel.show(longSession(messages));
  await panel.play([turnStarted(messages / 2 + 1)]);
  return panel;
}

const PARAGRAPHS = Array.from(
  { length: 30 },
  (_, index) => `Paragraph ${index} of the answer, **long** enough to wrap in a narrow panel.\n\n`,
);

function distanceFromEnd(page: Page): Promise<number> {
  return page
    .locator("[data-part=scroller]")
    .evaluate((list) => list.scrollHeight - list.scrollTop - list.clientHeight);
}

/** frames.test.ts uses 10,000 messages in both forms. */
const [MANY, MIDDLE] =
  process.env["INDWELL_TEST_LONG"] === undefined
    ? ([2_000, /^Question [45]\d\d:/] as const)
    : ([10_000, /^Question 2\d\d\d:/] as const);

test(`of ${MANY} messages only the visible ones are in the page`, async () => {
  const panel = await streaming(MANY);
  assert.ok((await panel.page.locator("[data-row]").count()) < 150);
  await panel.page.locator("[data-part=scroller]").evaluate((list) => {
    list.scrollTop = list.scrollHeight / 2;
  });
  await panel.receive({ type: "found", id: 0, rows: [] });
  assert.ok((await panel.page.locator("[data-row]").count()) < 150);
  assert.ok((await panel.page.getByText(MIDDLE).count()) > 0);
});

test("the view follows new output while it is at the end", async () => {
  const panel = await streaming(40);
  for (const words of PARAGRAPHS) await panel.play([textDelta(21, words)]);
  assert.ok((await distanceFromEnd(panel.page)) < 2);
  assert.equal(await panel.page.locator(".to-end").count(), 0);
});

test("new output does not move a view that is scrolled up, and a button leads to the output", async () => {
  const panel = await streaming(40);
  await panel.play(PARAGRAPHS.map((words) => textDelta(21, words)));
  await panel.page.mouse.move(200, 300);
  await panel.page.mouse.wheel(0, -900);
  await panel.receive({ type: "found", id: 0, rows: [] });
  const before = await visibleRows(panel.page);
  for (const words of PARAGRAPHS) await panel.play([textDelta(21, words)]);
  const after = await visibleRows(panel.page);
  assert.deepEqual(
    after.map(([words]) => words),
    before.map(([words]) => words),
  );
  // Heights have fractions of a pixel, and the scroll position has none.
  for (const [index, [words, top]] of before.entries())
    assert.ok(Math.abs((after[index]?.[1] ?? 0) - top) <= 1, words);
  await panel.page.getByRole("button", { name: "Go to the new output" }).click();
  await panel.play([textDelta(21, "and the end.")]);
  assert.ok((await distanceFromEnd(panel.page)) < 2);
});

test("turns that a rewind leaves behind do not count as new output", async () => {
  const panel = await pages.open({ width: 400, height: 700 });
  const state = longSession(40);
  await panel.show(state);
  await panel.page.locator("[data-part=scroller]").evaluate((list) => {
    list.scrollTop = 0;
  });
  await panel.page.getByRole("button", { name: "Go to the end" }).waitFor();
  const turns = state.turns.map((one) => (one.number > 15 ? { ...one, left: true } : one));
  await panel.show({ ...state, turns, revision: state.revision + 1 });
  await panel.page.getByRole("button", { name: "Go to the end" }).waitFor();
  assert.equal(await panel.page.getByText("New output").count(), 0);
});

for (const theme of THEMES)
  test(`the button that leads to the end has an opaque background (${theme})`, async () => {
    const panel = await pages.open({ theme, height: 400 });
    await panel.show(longSession(40));
    await panel.page.locator("[data-part=scroller]").evaluate((list) => {
      list.scrollTop = 0;
    });
    const button = panel.page.getByRole("button", { name: "Go to the end" });
    const colour = await button.evaluate((one) => getComputedStyle(one).backgroundColor);
    assert.match(colour, /^rgb\(/, colour);
  });

/** The text of the visible blocks and their vertical positions in pixels. */
function visibleRows(page: Page): Promise<readonly (readonly [string, number])[]> {
  return page.evaluate(() =>
    [...document.querySelectorAll("[data-part=scroller] .md-block, [data-part=scroller] .prompt")]
      .map((element) => ({ element, box: element.getBoundingClientRect() }))
      .filter(({ box }) => box.bottom > 60 && box.top < 500)
      .map(({ element, box }): [string, number] => [
        element.textContent?.slice(0, 60) ?? "",
        box.top,
      ]),
  );
}

test("older turns load above without moving the visible text", async () => {
  const panel = await pages.open({ width: 400, height: 700 });
  const all = longSession(120).turns;
  await panel.show(emptyState({ turns: all.slice(30), older: "some" }));
  await panel.page.locator("[data-part=scroller]").evaluate((list) => {
    list.scrollTop = 0;
  });
  await panel.receive({ type: "found", id: 0, rows: [] });
  assert.ok((await panel.posted()).some((one) => one.type === "older"));
  await panel.page.locator("[data-part=scroller]").evaluate((list) => {
    list.scrollTop = 40;
  });
  await panel.receive({ type: "found", id: 0, rows: [] });
  const before = await visibleRows(panel.page);
  assert.ok(before.length > 3);
  await panel.show(emptyState({ revision: 2, turns: all, older: "none" }));
  const after = await visibleRows(panel.page);
  assert.deepEqual(
    after.map(([words]) => words),
    before.map(([words]) => words),
  );
  // Heights have fractions of a pixel, and the scroll position has none.
  for (const [index, [words, top]] of before.entries())
    assert.ok(Math.abs((after[index]?.[1] ?? 0) - top) <= 1, words);
});

test("finished blocks keep their nodes and a selection while the answer streams", async () => {
  const panel = await streaming(4);
  await panel.play([
    textDelta(3, "First paragraph.\n\n```python\nx = 1\n```\n\nThird paragraph, unfin"),
  ]);
  await panel.page.evaluate(() => {
    const blocks = [...document.querySelectorAll(".turn:last-of-type .markdown > *")];
    Reflect.set(window, "__blocks", blocks);
    const first = document.createRange();
    first.selectNodeContents(blocks[0] ?? document.body);
    document.getSelection()?.removeAllRanges();
    document.getSelection()?.addRange(first);
  });
  for (const words of ["ished.", "\n\nFourth.\n\n", ...PARAGRAPHS])
    await panel.play([textDelta(3, words)]);
  const same = await panel.page.evaluate(() => {
    const blocks: unknown = Reflect.get(window, "__blocks");
    const now = [...document.querySelectorAll(".turn:last-of-type .markdown > *")];
    return (
      Array.isArray(blocks) &&
      blocks.length === 3 &&
      blocks.every((block, index) => block === now[index])
    );
  });
  assert.ok(same);
  assert.equal(
    await panel.page.evaluate(() => document.getSelection()?.toString().trim()),
    "First paragraph.",
  );
});

test("a selection in a paragraph that still streams is kept", async () => {
  const panel = await streaming(4);
  await panel.play([textDelta(3, "These words are being")]);
  await panel.page.evaluate(() => {
    const words = document.querySelector(".turn:last-of-type .md-block p")?.firstChild;
    if (words instanceof Text) document.getSelection()?.setBaseAndExtent(words, 0, words, 11);
  });
  for (const words of [" written", " now, ", "**with** more", " to come.\n\nNext"])
    await panel.play([textDelta(3, words)]);
  assert.equal(await panel.page.evaluate(() => document.getSelection()?.toString()), "These words");
});

test("a prompt that the user sends is in sight at once, and so is its turn", async () => {
  seq = 0;
  const panel = await pages.open({ width: 400, height: 700 });
  await panel.show(longSession(40));
  const toStart = () =>
    panel.page.locator("[data-part=scroller]").evaluate((list) => {
      list.scrollTop = 200;
    });
  await toStart();
  await panel.page.locator(".prompt-text").fill("Go on");
  await panel.page.keyboard.press("Enter");
  assert.deepEqual(
    (await panel.posted()).filter((one) => one.type === "send"),
    [{ type: "send", text: "Go on", how: "auto" }],
  );
  await panel.play([{ type: "sent", id: 1, words: "Go on", images: [], taken: [] }]);
  await panel.page.locator(".prompt.sending", { hasText: "Go on" }).waitFor();
  assert.ok((await distanceFromEnd(panel.page)) < 2);
  await panel.play([turnStarted(21), textDelta(21, "Yes.")]);
  assert.equal(await panel.page.locator(".prompt.sending").count(), 0);
  assert.ok((await distanceFromEnd(panel.page)) < 2);
});

test("a resumed session shows each answer in full", async () => {
  const panel = await pages.open({ width: 400, height: 700 });
  const turns = Array.from({ length: 6 }, (_, index) =>
    turn(index + 1, {
      words: `Prompt ${index + 1}`,
      parts: [text("a", `Answer ${index + 1}\n\nMore of it.`)],
    }),
  );
  await panel.show(emptyState({ turns }));
  assert.equal(await panel.page.getByText("More of it.").count(), 6);
});

/** The number of the turn whose prompt is at the top edge of the conversation, or 0. */
function promptAtTop(page: Page): Promise<number> {
  return page.locator("[data-part=scroller]").evaluate((list) => {
    const edge = list.getBoundingClientRect().top;
    const prompt = [...list.querySelectorAll(".turn-prompt")].find(
      (one) => Math.abs(one.getBoundingClientRect().top - edge) <= 1,
    );
    return Number(/\d+/.exec(prompt?.closest("article")?.ariaLabel ?? "")?.[0] ?? 0);
  });
}

test("Alt+Up and Alt+Down go to the previous and the next prompt exactly, and End goes to the end", async () => {
  const panel = await streaming(40);
  await panel.play(PARAGRAPHS.map((words) => textDelta(21, words)));
  await panel.page.locator("[data-part=scroller]").focus();
  const tops: number[] = [];
  for (const key of [..."UUUUUU", ..."DDDD"]) {
    await panel.page.keyboard.press(key === "U" ? "Alt+ArrowUp" : "Alt+ArrowDown");
    await panel.receive({ type: "found", id: 0, rows: [] });
    tops.push(await promptAtTop(panel.page));
  }
  assert.deepEqual(tops, [21, 20, 19, 18, 17, 16, 17, 18, 19, 20]);
  await panel.page.keyboard.press("End");
  await panel.receive({ type: "found", id: 0, rows: [] });
  assert.ok((await distanceFromEnd(panel.page)) < 2);
});

test("Ctrl+F finds text in turns that are not drawn, scrolls to it and highlights it", async () => {
  const panel = await pages.open({ width: 400, height: 500 });
  const turns = Array.from({ length: 60 }, (_, index) =>
    turn(index + 1, {
      words: `Prompt ${index + 1}`,
      parts: [
        text(
          "a",
          index % 20 === 4 ? "Here is a needle in the hay." : `Answer\n\n${"More.\n\n".repeat(6)}`,
        ),
      ],
    }),
  );
  await panel.show(emptyState({ turns, older: "some" }));
  const { page } = panel;
  assert.equal(await page.getByText("needle").count(), 0);
  await page.keyboard.press("Control+f");
  const field = page.getByRole("textbox", { name: "Find in the conversation" });
  await field.fill("NEEDLE");
  await page.getByText("3 of 3 in the turns shown").waitFor();
  await page.getByText("needle").waitFor();
  await field.press("Enter");
  await page.getByText("2 of 3 in the turns shown").waitFor();
  await page.locator("[aria-label='Turn 25']").getByText("needle").waitFor();
  await page.waitForFunction(() => (CSS.highlights.get("indwell-find-current")?.size ?? 0) === 1);
  await page.getByRole("button", { name: "Load earlier turns" }).click();
  assert.ok((await panel.posted()).some((one) => one.type === "older"));
  await field.press("Escape");
  assert.equal(await field.count(), 0);
  assert.equal(await page.evaluate(() => CSS.highlights.size), 0);
});
