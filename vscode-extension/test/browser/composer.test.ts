/** The composer in Chromium with a fake host: keys, composition, chips, lists, paste, drop, queue, footer. */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { FoundRow, ToHost } from "../../src/shared/messages.ts";
import type { PanelState } from "../../src/shared/state/state.ts";
import { type Pages, type Panel, startPages } from "./page.ts";
import { busyState, chips, composerState } from "./scenes-composer.ts";

let pages: Pages;
before(async () => {
  pages = await startPages();
});
after(() => pages.close());

async function open(state: PanelState, typed = ""): Promise<Panel> {
  const panel = await pages.open({ width: 400, height: 640 });
  await panel.show(state, typed);
  await panel.page.locator(".prompt-text").focus();
  return panel;
}

const box = (panel: Panel) => panel.page.locator(".prompt-text");
const text = (panel: Panel) => box(panel).inputValue();
const keys = async (panel: Panel, ...names: string[]) => {
  for (const name of names) await panel.page.keyboard.press(name);
};
/** What was posted, but for `ready`, `typed` and `find`. */
const acts = async (panel: Panel): Promise<readonly ToHost[]> =>
  (await panel.posted()).filter((one) => !["ready", "typed", "find"].includes(one.type));
const focused = (panel: Panel) =>
  panel.page.evaluate(() => document.activeElement?.className ?? "");

/** Answers the question about `query`; on a slow machine one is asked between two keys, too. */
async function answer(panel: Panel, query: string, rows: readonly FoundRow[]): Promise<number> {
  const handle = await panel.page.waitForFunction((wanted) => {
    const posted: { type: string; id: number; query: string }[] = Reflect.get(window, "__posted");
    return posted.findLast((one) => one.type === "find" && one.query === wanted)?.id;
  }, query);
  const id = Number(await handle.jsonValue());
  await panel.tell({ type: "found", id, rows });
  return id;
}

const FILES: readonly FoundRow[] = [
  { kind: "file", label: "invoice.py", detail: "src/shop", value: "src/shop/invoice.py" },
  { kind: "folder", label: "src/", detail: "", value: "src/" },
  { kind: "problems", label: "Problems", detail: "of all files", value: "problems:" },
];

test("Enter sends and empties the box, Shift+Enter breaks the line", async () => {
  const panel = await open(composerState());
  await panel.page.keyboard.type("one");
  await keys(panel, "Shift+Enter");
  await panel.page.keyboard.type("two");
  await keys(panel, "Enter");
  assert.deepEqual(await acts(panel), [{ type: "send", text: "one\ntwo", how: "auto" }]);
  assert.equal(await text(panel), "");
});

test("Enter sends nothing where nothing is typed, and keeps the words while the server is away", async () => {
  const panel = await open(composerState());
  await keys(panel, "Enter");
  const stopped = { kind: "stopped", reason: "The server has ended" } as const;
  await panel.show({ ...composerState(), connection: stopped });
  await panel.page.keyboard.type("words");
  await keys(panel, "Enter");
  assert.deepEqual(await acts(panel), []);
  assert.equal(await text(panel), "words");
});

test("Enter that confirms a composition never sends, in the order of Chromium and of others", async () => {
  const panel = await open(composerState());
  const devtools = await panel.devtools();
  await devtools.send("Input.imeSetComposition", {
    text: "にほん",
    selectionStart: 3,
    selectionEnd: 3,
  });
  assert.equal(await text(panel), "にほん");
  // Chromium: the key belongs to the input method and comes while it still composes.
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
  assert.deepEqual(await acts(panel), []);
  await devtools.send("Input.insertText", { text: "日本" });
  assert.equal(await text(panel), "日本");
  // Safari: the composition ends first, then the key comes as 229 with isComposing false.
  await panel.page.evaluate(() => {
    const field = document.querySelector(".prompt-text");
    const key = new KeyboardEvent("keydown", { key: "Enter", bubbles: true, cancelable: true });
    Object.defineProperty(key, "keyCode", { value: 229 });
    field?.dispatchEvent(new CompositionEvent("compositionend", { data: "日本", bubbles: true }));
    field?.dispatchEvent(key);
  });
  assert.deepEqual(await acts(panel), []);
  await keys(panel, "Enter");
  assert.deepEqual(await acts(panel), [{ type: "send", text: "日本", how: "auto" }]);
});

test("a draft that comes back while an input method composes waits for its end", async () => {
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

test("up and down walk through earlier prompts and give the unsent words back", async () => {
  const panel = await open(composerState(), "unsent");
  await keys(panel, "ArrowUp");
  assert.equal(await text(panel), "Explain the totals");
  await keys(panel, "ArrowUp");
  assert.equal(await text(panel), "Fix the rounding\nin invoice totals");
  await keys(panel, "ArrowUp");
  assert.equal(await text(panel), "Hello");
  await keys(panel, "ArrowDown", "ArrowDown");
  assert.equal(await text(panel), "Explain the totals");
  await keys(panel, "ArrowDown");
  assert.equal(await text(panel), "unsent");
});

test("in the middle of a long wrapped line the arrows move the caret", async () => {
  const long = "word ".repeat(60).trim();
  const panel = await open(composerState(), long);
  await keys(panel, "ArrowUp");
  assert.equal(await text(panel), long);
  for (let count = 0; count < 12; count += 1) await keys(panel, "ArrowUp");
  assert.notEqual(await text(panel), long);
});

test("Escape stops the running turn, but first closes a list", async () => {
  const panel = await open(busyState());
  await panel.page.keyboard.type("/");
  await panel.page.locator("[role=listbox]").waitFor();
  await keys(panel, "Escape");
  assert.equal(await panel.page.locator("[role=listbox]").count(), 0);
  assert.deepEqual(await acts(panel), []);
  await panel.page.keyboard.type("m");
  assert.equal(await panel.page.locator("[role=listbox]").count(), 0);
  await keys(panel, "Escape");
  assert.deepEqual(await acts(panel), [{ type: "stop" }]);
  assert.equal(await text(panel), "/m");
});

test("while a turn runs Enter steers and Control+Enter sends next; chips of one's own wait their turn", async () => {
  const panel = await open(busyState());
  await panel.page.keyboard.type("a");
  await keys(panel, "Enter");
  await panel.page.getByText("At the next step: a").waitFor();
  await panel.page.keyboard.type("b");
  await keys(panel, "Control+Enter");
  await panel.show(busyState({ attachments: chips.slice(2, 3) }));
  await panel.page.keyboard.type("c");
  assert.ok(await panel.page.getByRole("button", { name: "Steer" }).isDisabled());
  await keys(panel, "Enter");
  await panel.show(busyState());
  await panel.page.keyboard.type("d");
  await panel.page.getByRole("button", { name: "Next", exact: true }).click();
  await panel.page.keyboard.type("e");
  await panel.page.getByRole("button", { name: "Steer" }).click();
  await panel.page.getByRole("button", { name: "Stop" }).click();
  assert.deepEqual(
    (await acts(panel)).map((one) => (one.type === "send" ? [one.text, one.how] : one.type)),
    [["a", "steer"], ["b", "next"], ["c", "next"], ["d", "next"], ["e", "steer"], "stop"],
  );
});

test("words survive the session list, a new panel, and a send that failed", async () => {
  const panel = await open(composerState());
  await panel.page.keyboard.type("half a thou");
  await panel.play([{ type: "list", query: "", result: null, where: "replace" }]);
  assert.equal(await box(panel).count(), 0);
  await panel.play([{ type: "list", query: "", result: null, where: "close" }]);
  assert.equal(await text(panel), "half a thou");
  assert.deepEqual((await panel.posted()).at(-1), { type: "typed", text: "half a thou", at: 11 });
  await box(panel).focus();
  await keys(panel, "End");
  await panel.page.keyboard.type("ght");
  await keys(panel, "Enter");
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

test("chips go by mouse and by keyboard, and the focus stays near", async () => {
  const panel = await open(composerState({ attachments: chips.slice(0, 3) }));
  await keys(panel, "Backspace");
  assert.match(
    await panel.page.evaluate(() => document.activeElement?.textContent ?? ""),
    /totals\.py/,
  );
  await keys(panel, "ArrowLeft", "Delete");
  assert.deepEqual(await acts(panel), [{ type: "unattach", id: "opened" }]);
  await panel.play([{ type: "unattach", id: "opened" }]);
  assert.match(
    await panel.page.evaluate(() => document.activeElement?.textContent ?? ""),
    /totals\.py/,
  );
  await panel.page.getByRole("button", { name: "Remove invoice.py:41–58", exact: true }).click();
  assert.deepEqual((await acts(panel)).at(-1), { type: "unattach", id: "selection" });
  await panel.page.getByRole("button", { name: "Add context" }).click();
  assert.deepEqual((await acts(panel)).at(-1), { type: "pickContext" });
});

test("a mention is completed: keys move, Enter attaches it once and leaves its name in the text", async () => {
  const panel = await open(composerState());
  await panel.page.keyboard.type("look at @inv");
  await answer(panel, "inv", FILES);
  const list = panel.page.locator("[role=listbox]");
  await list.waitFor();
  assert.equal(await box(panel).getAttribute("aria-activedescendant"), "composer-completions-0");
  assert.equal(await list.locator("b").first().textContent(), "inv");
  await keys(panel, "ArrowDown", "ArrowDown", "ArrowUp", "ArrowUp", "Enter");
  assert.equal(await text(panel), "look at @invoice.py ");
  assert.deepEqual(await acts(panel), [
    { type: "attachMention", value: "src/shop/invoice.py", label: "invoice.py" },
  ]);
  assert.equal(await list.count(), 0);
  assert.equal(await box(panel).getAttribute("role"), null);
  await keys(panel, "Control+z");
  assert.equal(await text(panel), "look at @inv");
});

test("Tab goes down into a folder, a press of the mouse chooses, late answers count for nothing", async () => {
  const panel = await open(composerState());
  await panel.page.keyboard.type("@s");
  const first = await answer(panel, "s", FILES);
  await panel.page.locator("[role=option]").nth(1).hover();
  await keys(panel, "Tab");
  assert.equal(await text(panel), "@src/");
  await panel.page.waitForFunction((id) => {
    const posted: { type: string; id: number }[] = Reflect.get(window, "__posted");
    return (posted.findLast((one) => one.type === "find")?.id ?? 0) > id;
  }, first);
  await panel.tell({
    type: "found",
    id: first,
    rows: [{ kind: "file", label: "stale", detail: "", value: "stale" }],
  });
  assert.equal(await panel.page.getByText("stale").count(), 0);
  await answer(panel, "src/", FILES);
  await panel.page.getByRole("option", { name: /Problems/ }).click();
  assert.deepEqual(await acts(panel), [
    { type: "attachMention", value: "problems:", label: "Problems" },
  ]);
  assert.equal(await focused(panel), "prompt-text");
});

test("folder and symbol narrow the list, and what is typed behind them is marked", async () => {
  const panel = await open(composerState());
  await panel.page.keyboard.type("@");
  const narrow = { kind: "narrow", label: "symbol", detail: "search", value: "symbol:" } as const;
  await answer(panel, "", [
    { kind: "changes", label: "changes", detail: "", value: "changes" },
    narrow,
  ]);
  await keys(panel, "ArrowDown", "Enter");
  assert.equal(await text(panel), "@symbol:");
  await panel.page.keyboard.type("tot");
  await answer(panel, "symbol:tot", [
    { kind: "symbol", label: "total", detail: "shop.py:3", value: "shop.py#L3-9" },
  ]);
  assert.equal(await panel.page.locator("[role=listbox] b").first().textContent(), "tot");
  await keys(panel, "Enter");
  assert.equal(await text(panel), "@total ");
  assert.deepEqual(await acts(panel), [
    { type: "attachMention", value: "shop.py#L3-9", label: "total" },
  ]);
});

test("a command that is chosen runs, one that needs a value offers it, an unknown one is sent", async () => {
  const panel = await open(composerState());
  await panel.page.keyboard.type("/comp");
  await keys(panel, "Enter");
  assert.equal(await text(panel), "");
  await panel.page.keyboard.type("/mod");
  await keys(panel, "Enter");
  assert.equal(await text(panel), "/mode ");
  await panel.page.keyboard.type("pl");
  await keys(panel, "Enter");
  await panel.page.keyboard.type("/usr/bin is a path");
  await keys(panel, "Enter");
  assert.deepEqual(await acts(panel), [
    { type: "command", command: "compact" },
    { type: "mode", mode: "plan" },
    { type: "send", text: "/usr/bin is a path", how: "auto" },
  ]);
});

/** Pastes or drops as the browser does, with real data transfers. */
async function transfer(
  panel: Panel,
  event: "paste" | "dragenter" | "drop",
  carried: {
    readonly texts?: Readonly<Record<string, string>>;
    readonly files?: readonly (readonly [string, string, number])[];
  },
): Promise<void> {
  await panel.page.evaluate(
    ([name, data]) => {
      const moved = new DataTransfer();
      for (const [type, value] of Object.entries(data.texts ?? {})) moved.setData(type, value);
      for (const [file, type, size] of data.files ?? [])
        moved.items.add(new File([new Uint8Array(size)], file, { type }));
      const made =
        name === "paste"
          ? new ClipboardEvent("paste", { clipboardData: moved, bubbles: true, cancelable: true })
          : new DragEvent(name, { dataTransfer: moved, bubbles: true, cancelable: true });
      document.querySelector(".prompt-text")?.dispatchEvent(made);
    },
    [event, carried] as const,
  );
}

const until = (panel: Panel, type: ToHost["type"]) =>
  panel.page.waitForFunction((wanted) => {
    const posted: { type: string }[] = Reflect.get(window, "__posted");
    return posted.some((one) => one.type === wanted);
  }, type);

test("a pasted picture becomes a chip, one that no model takes a sentence", async () => {
  const panel = await open(composerState());
  await transfer(panel, "paste", { files: [["a.png", "image/png", 3]] });
  await until(panel, "attachImage");
  assert.deepEqual(await acts(panel), [
    { type: "attachImage", label: "a.png", mime: "image/png", data: "AAAA" },
  ]);
  await transfer(panel, "paste", { files: [["a.svg", "image/svg+xml", 3]] });
  assert.match(
    (await panel.page.getByRole("alert").textContent()) ?? "",
    /PNG, JPEG, GIF and WebP/,
  );
  await transfer(panel, "paste", { files: [["a.png", "image/png", 5 * 1024 * 1024 + 1]] });
  assert.match((await panel.page.getByRole("alert").textContent()) ?? "", /larger than 5 MB/);
});

test("a long paste becomes a chip, and the chip text again", async () => {
  const long = "line\n".repeat(60);
  const panel = await open(composerState({ attachments: [] }), "see: ");
  await transfer(panel, "paste", { texts: { "text/plain": long } });
  assert.deepEqual(await acts(panel), [
    { type: "attachText", label: "Pasted text, 60 lines", text: long },
  ]);
  assert.equal(await text(panel), "see: ");
  await panel.play([
    {
      type: "attach",
      attachment: { kind: "text", id: "text:9", label: "Pasted text, 60 lines", text: long },
    },
  ]);
  await panel.page.locator(".chip-name").click();
  assert.equal(await text(panel), `see: ${long}`);
  assert.deepEqual((await acts(panel)).at(-1), { type: "unattach", id: "text:9" });
});

test("files of the explorer and pictures of the desktop can be dropped, with a hint meanwhile", async () => {
  const panel = await open(composerState());
  const uris = { "application/vnd.code.uri-list": "file:///ws/a.py\r\nfile:///ws/b.py" };
  await transfer(panel, "dragenter", { texts: uris });
  await panel.page.getByText("Drop files or pictures").waitFor();
  await transfer(panel, "drop", { texts: uris });
  assert.equal(await panel.page.getByText("Drop files or pictures").count(), 0);
  await transfer(panel, "drop", { files: [["b.webp", "image/webp", 3]] });
  await until(panel, "attachImage");
  assert.deepEqual(await acts(panel), [
    { type: "attachUris", uris: ["file:///ws/a.py", "file:///ws/b.py"] },
    { type: "attachImage", label: "b.webp", mime: "image/webp", data: "AAAA" },
  ]);
});

test("waiting prompts can be changed, moved, removed, held and let go", async () => {
  const panel = await open(busyState());
  const click = (name: RegExp) =>
    panel.page.getByRole("button", { name }).first().click({ force: true });
  await panel.page.locator(".queue-row").first().hover();
  await click(/^Change: Update/);
  await panel.page.keyboard.type(" too");
  await keys(panel, "Enter");
  await panel.page.locator(".queue-row").first().hover();
  await click(/^Move down: Update/);
  await panel.page.locator(".queue-row").nth(1).hover();
  await click(/^Remove: Write/);
  await click(/^Hold$/);
  await panel.show(busyState({ queue: { ...busyState().queue, held: "the turn was stopped" } }));
  await panel.page.getByText("held: the turn was stopped").waitFor();
  await click(/^Resume$/);
  const words = "Update the tests for the new rounding, and add one for refunds too";
  assert.deepEqual(await acts(panel), [
    { type: "queue", action: "edit", id: "q1", to: null, text: words },
    { type: "queue", action: "move", id: "q1", to: 1, text: null },
    { type: "queue", action: "remove", id: "q2", to: null, text: null },
    { type: "queue", action: "hold", id: null, to: null, text: null },
    { type: "queue", action: "resume", id: null, to: null, text: null },
  ]);
});

test("a waiting prompt that begins while its words are changed gives the change to the composer", async () => {
  const panel = await open(busyState());
  await panel.page.locator(".queue-row").first().hover();
  await panel.page.getByRole("button", { name: /^Change: Update/ }).click();
  await panel.page.keyboard.type(" too");
  await panel.show(busyState({ queue: { seq: 4, held: "", waiting: [] } }));
  assert.match(await text(panel), /refunds too$/);
});

test("the mode menu works by keyboard and gives the focus back", async () => {
  const state = composerState();
  const status =
    state.status === null ? null : { ...state.status, modes: ["plan", "ask", "review"] as const };
  const panel = await open({ ...state, status });
  const button = panel.page.getByRole("button", { name: "Mode: review" });
  await button.focus();
  await keys(panel, "Enter");
  await panel.page.getByRole("menu").waitFor();
  await panel.page.waitForFunction(
    () => document.activeElement?.getAttribute("role") === "menuitemradio",
  );
  assert.match(
    await panel.page.evaluate(() => document.activeElement?.textContent ?? ""),
    /^review/,
  );
  await keys(panel, "ArrowDown");
  assert.match(await panel.page.evaluate(() => document.activeElement?.textContent ?? ""), /^plan/);
  await keys(panel, "Escape");
  assert.equal(await panel.page.getByRole("menu").count(), 0);
  assert.match(await focused(panel), /mode-picker/);
  assert.deepEqual(await acts(panel), []);
  await keys(panel, "Enter");
  await panel.page.waitForFunction(
    () => document.activeElement?.getAttribute("role") === "menuitemradio",
  );
  await keys(panel, "a", "Enter");
  assert.deepEqual(await acts(panel), [{ type: "mode", mode: "ask" }]);
});

test("the model menu chooses, and leads to the keys; a press outside closes it", async () => {
  const panel = await open(composerState());
  const button = panel.page.getByRole("button", { name: "Model: qwen3-coder:30b" });
  await button.click();
  await panel.page.getByRole("menuitemradio", { name: /devstral/ }).click();
  await button.click();
  await panel.page.getByRole("menuitem", { name: "Manage keys…" }).click();
  await button.click();
  await panel.page.mouse.click(200, 100);
  assert.equal(await panel.page.getByRole("menu").count(), 0);
  assert.deepEqual(await acts(panel), [
    { type: "model", model: "mistralai/devstral-medium-2512" },
    { type: "command", command: "manageKeys" },
  ]);
});

test("the effort menu chooses, and is not there for a model that does not think", async () => {
  const panel = await open(composerState());
  const button = panel.page.getByRole("button", { name: "Effort: auto" });
  await button.click();
  await panel.page.getByRole("menuitemradio", { name: /^high/ }).click();
  await button.click();
  await panel.page.getByRole("menuitemradio", { name: /^auto/ }).click();
  await box(panel).click();
  await panel.page.keyboard.type("/effort lo");
  await keys(panel, "Tab", "Enter");
  assert.deepEqual(await acts(panel), [
    { type: "effort", effort: "high" },
    { type: "effort", effort: "low" },
  ]);
  const state = composerState();
  await panel.show({ ...state, status: state.status && { ...state.status, efforts: [] } });
  await button.waitFor({ state: "detached" });
});

test("the meter opens what fills the window, keeps the focus inside, and can shorten it", async () => {
  const panel = await open(composerState());
  await panel.page
    .getByRole("button", { name: /^Window: 38 % full, 12.4k of 32.8k tokens/ })
    .click();
  const dialog = panel.page.getByRole("dialog");
  await dialog.getByText("Tool descriptions").waitFor();
  await keys(panel, "Tab", "Tab");
  assert.equal(await panel.page.evaluate(() => document.activeElement?.textContent), "Compact now");
  await dialog.getByRole("button", { name: "Show the request" }).click();
  await panel.page.getByRole("button", { name: /^Window/ }).click();
  await dialog.getByRole("button", { name: "Compact now" }).click();
  assert.deepEqual(await acts(panel), [
    { type: "command", command: "explainRequest" },
    { type: "command", command: "compact" },
  ]);
  assert.match(await focused(panel), /window-meter/);
});

test("Tab goes from the text over the chips to the footer", async () => {
  const panel = await open(composerState());
  const seen: string[] = [];
  for (let count = 0; count < 7; count += 1) {
    await keys(panel, "Tab");
    seen.push((await focused(panel)).split(" ").at(-1) ?? "");
  }
  assert.deepEqual(seen, [
    "add-context",
    "still-chip",
    "mode-picker",
    "model-picker",
    "effort-picker",
    "window-meter",
    "send",
  ]);
});

test("the box grows to ten lines, and the page complains about nothing", async () => {
  const panel = await open(composerState());
  const height = () => box(panel).evaluate((field) => field.getBoundingClientRect().height);
  const one = await height();
  await panel.page.evaluate(() => undefined);
  for (let count = 0; count < 9; count += 1) await keys(panel, "Shift+Enter");
  const ten = await height();
  for (let count = 0; count < 9; count += 1) await keys(panel, "Shift+Enter");
  assert.ok(ten > one * 4, `${one} ${ten}`);
  assert.equal(await height(), ten);
  assert.deepEqual(panel.complaints, []);
  assert.deepEqual(panel.requests, []);
});

test("a command for a server that is away runs while nothing can be sent", async () => {
  const stopped = { kind: "stopped", reason: "The server has ended" } as const;
  const panel = await open(composerState({ connection: stopped }));
  await panel.page.keyboard.type("/restart");
  await keys(panel, "Escape", "Enter");
  assert.deepEqual(await acts(panel), [{ type: "command", command: "restart" }]);
});

for (const width of [300, 320, 340])
  test(`the name of an ordinary model is not cut where the panel is ${width} wide`, async () => {
    const panel = await pages.open({ width, height: 640 });
    await panel.show(composerState());
    const cut = await panel.page
      .locator(".model-picker > span:first-child")
      .evaluate((name) => name.scrollWidth - name.clientWidth);
    assert.equal(cut, 0);
  });
