/** Text of the composer: keys, composition, earlier prompts, drafts and the height of the box. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { composerState } from "../scenes-composer.ts";
import { open, postedActions, press, promptBox, text } from "./panel.ts";

test("Enter sends the prompt and empties the box, and Shift+Enter inserts a line break", async () => {
  const panel = await open(composerState());
  await panel.page.keyboard.type("one");
  await press(panel, "Shift+Enter");
  await panel.page.keyboard.type("two");
  await press(panel, "Enter");
  assert.deepEqual(await postedActions(panel), [{ type: "send", text: "one\ntwo", how: "auto" }]);
  assert.equal(await text(panel), "");
});

test("Enter does not send an empty prompt, and keeps the text while the server is stopped", async () => {
  const panel = await open(composerState());
  await press(panel, "Enter");
  const stopped = { kind: "stopped", reason: "The server has ended" } as const;
  await panel.show({ ...composerState(), connection: stopped });
  await panel.page.keyboard.type("words");
  await press(panel, "Enter");
  assert.deepEqual(await postedActions(panel), []);
  assert.equal(await text(panel), "words");
});

test("Enter that confirms a composition does not send, with the event order of Chromium and of Safari", async () => {
  const panel = await open(composerState());
  const devtools = await panel.devtools();
  await devtools.send("Input.imeSetComposition", {
    text: "にほん",
    selectionStart: 3,
    selectionEnd: 3,
  });
  assert.equal(await text(panel), "にほん");
  // Chromium: the input method handles the key, whose event comes during the composition.
  await devtools.send("Input.dispatchKeyEvent", {
    type: "rawKeyDown",
    key: "Process",
    code: "Enter",
    windowsVirtualKeyCode: 229,
  });
  await devtools.send("Input.dispatchKeyEvent", {
    type: "rawKeyDown",
    key: "Enter",
    code: "Enter",
    windowsVirtualKeyCode: 13,
  });
  assert.deepEqual(await postedActions(panel), []);
  await devtools.send("Input.insertText", { text: "日本" });
  assert.equal(await text(panel), "日本");
  // Safari: the composition ends first, then the key comes with the code 229 and isComposing false.
  await panel.page.evaluate(() => {
    const field = document.querySelector(".prompt-text");
    const key = new KeyboardEvent("keydown", { key: "Enter", bubbles: true, cancelable: true });
    Object.defineProperty(key, "keyCode", { value: 229 });
    field?.dispatchEvent(new CompositionEvent("compositionend", { data: "日本", bubbles: true }));
    field?.dispatchEvent(key);
  });
  assert.deepEqual(await postedActions(panel), []);
  await press(panel, "Enter");
  assert.deepEqual(await postedActions(panel), [{ type: "send", text: "日本", how: "auto" }]);
});

test("a draft that is restored during a composition is inserted when the composition ends", async () => {
  const panel = await open(composerState());
  const devtools = await panel.devtools();
  await devtools.send("Input.imeSetComposition", {
    text: "に",
    selectionStart: 1,
    selectionEnd: 1,
  });
  await panel.play([{ type: "draft", text: "sent before", mode: "replace" }]);
  assert.equal(await text(panel), "に");
  await devtools.send("Input.insertText", { text: "日" });
  await panel.page.waitForFunction(() =>
    document.querySelector<HTMLTextAreaElement>(".prompt-text")?.value.startsWith("sent"),
  );
  assert.equal(await text(panel), "sent before\n\n日");
});

test("the up and down arrows step through earlier prompts and restore the unsent text", async () => {
  const panel = await open(composerState(), "unsent");
  await press(panel, "ArrowUp");
  assert.equal(await text(panel), "Explain the totals");
  await press(panel, "ArrowUp");
  assert.equal(await text(panel), "Fix the rounding\nin invoice totals");
  await press(panel, "ArrowUp");
  assert.equal(await text(panel), "Hello");
  await press(panel, "ArrowDown", "ArrowDown");
  assert.equal(await text(panel), "Explain the totals");
  await press(panel, "ArrowDown");
  assert.equal(await text(panel), "unsent");
});

test("in a long wrapped line the up arrow moves the caret before it shows an earlier prompt", async () => {
  const long = "word ".repeat(60).trim();
  const panel = await open(composerState(), long);
  await press(panel, "ArrowUp");
  assert.equal(await text(panel), long);
  for (let count = 0; count < 12; count += 1) await press(panel, "ArrowUp");
  assert.notEqual(await text(panel), long);
});

test("the typed text survives the session list, a new panel and a failed send", async () => {
  const panel = await open(composerState());
  await panel.page.keyboard.type("half a thou");
  await panel.play([{ type: "list", query: "", result: null, where: "replace" }]);
  assert.equal(await promptBox(panel).count(), 0);
  await panel.play([{ type: "list", query: "", result: null, where: "close" }]);
  assert.equal(await text(panel), "half a thou");
  assert.deepEqual((await panel.posted()).at(-1), { type: "typed", text: "half a thou", at: 11 });
  await promptBox(panel).focus();
  await press(panel, "End");
  await panel.page.keyboard.type("ght");
  await press(panel, "Enter");
  await panel.page.keyboard.type("meanwhile");
  await panel.play([{ type: "draft", text: "half a thought", mode: "replace" }]);
  assert.equal(await text(panel), "half a thought\n\nmeanwhile");
  await panel.play([
    { type: "draft", text: "first of two", mode: "append" },
    { type: "draft", text: "second of two", mode: "append" },
  ]);
  assert.match(await text(panel), /first of two\n\nsecond of two$/);
  const again = await open(composerState(), "kept by the host");
  assert.equal(await text(again), "kept by the host");
});

test("the box stops growing at ten lines, without a console error or a request", async () => {
  const panel = await open(composerState());
  const height = () => promptBox(panel).evaluate((field) => field.getBoundingClientRect().height);
  const one = await height();
  await panel.page.evaluate(() => undefined);
  for (let count = 0; count < 9; count += 1) await press(panel, "Shift+Enter");
  const ten = await height();
  for (let count = 0; count < 9; count += 1) await press(panel, "Shift+Enter");
  assert.ok(ten > one * 4, `${one} ${ten}`);
  assert.equal(await height(), ten);
  assert.deepEqual(panel.consoleErrors, []);
  assert.deepEqual(panel.requests, []);
});
