/** Completion in the composer: mentions and commands. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { FoundRow } from "../../../src/shared/messages.ts";
import type { Panel } from "../page.ts";
import { composerState } from "../scenes-composer.ts";
import { focusedClass, open, postedActions, press, promptBox, text } from "./panel.ts";

/** Answers the newest `find` request for `query`; a slow machine also sends requests between two keys. */
async function answerFind(panel: Panel, query: string, rows: readonly FoundRow[]): Promise<number> {
  const handle = await panel.page.waitForFunction((wanted) => {
    const posted: { type: string; id: number; query: string }[] = Reflect.get(window, "__posted");
    return posted.findLast((one) => one.type === "find" && one.query === wanted)?.id;
  }, query);
  const id = Number(await handle.jsonValue());
  await panel.receive({ type: "found", id, rows });
  return id;
}

const FILES: readonly FoundRow[] = [
  { kind: "file", label: "invoice.py", detail: "src/shop", value: "src/shop/invoice.py" },
  { kind: "folder", label: "src/", detail: "", value: "src/" },
  { kind: "problems", label: "Problems", detail: "of all files", value: "problems:" },
];

test("arrow keys and Enter complete a mention: its file is attached once and its name is in the text", async () => {
  const panel = await open(composerState());
  await panel.page.keyboard.type("look at @inv");
  await answerFind(panel, "inv", FILES);
  const list = panel.page.locator("[role=listbox]");
  await list.waitFor();
  assert.equal(
    await promptBox(panel).getAttribute("aria-activedescendant"),
    "composer-completions-0",
  );
  assert.equal(await list.locator("b").first().textContent(), "inv");
  await press(panel, "ArrowDown", "ArrowDown", "ArrowUp", "ArrowUp", "Enter");
  assert.equal(await text(panel), "look at @invoice.py ");
  assert.deepEqual(await postedActions(panel), [
    { type: "attachMention", value: "src/shop/invoice.py", label: "invoice.py" },
  ]);
  assert.equal(await list.count(), 0);
  assert.equal(await promptBox(panel).getAttribute("role"), null);
  await press(panel, "Control+z");
  assert.equal(await text(panel), "look at @inv");
});

test("in the mention list, Tab opens a folder, a click chooses a row, and late results are ignored", async () => {
  const panel = await open(composerState());
  await panel.page.keyboard.type("@s");
  const first = await answerFind(panel, "s", FILES);
  await panel.page.locator("[role=option]").nth(1).hover();
  await press(panel, "Tab");
  assert.equal(await text(panel), "@src/");
  await panel.page.waitForFunction((id) => {
    const posted: { type: string; id: number }[] = Reflect.get(window, "__posted");
    return (posted.findLast((one) => one.type === "find")?.id ?? 0) > id;
  }, first);
  await panel.receive({
    type: "found",
    id: first,
    rows: [{ kind: "file", label: "stale", detail: "", value: "stale" }],
  });
  assert.equal(await panel.page.getByText("stale").count(), 0);
  await answerFind(panel, "src/", FILES);
  await panel.page.getByRole("option", { name: /Problems/ }).click();
  assert.deepEqual(await postedActions(panel), [
    { type: "attachMention", value: "problems:", label: "Problems" },
  ]);
  assert.equal(await focusedClass(panel), "prompt-text");
});

test("'symbol:' and 'folder:' narrow the mention list, and the text typed after it is highlighted", async () => {
  const panel = await open(composerState());
  await panel.page.keyboard.type("@");
  const narrow = { kind: "narrow", label: "symbol", detail: "search", value: "symbol:" } as const;
  await answerFind(panel, "", [
    { kind: "changes", label: "changes", detail: "", value: "changes" },
    narrow,
  ]);
  await press(panel, "ArrowDown", "Enter");
  assert.equal(await text(panel), "@symbol:");
  await panel.page.keyboard.type("tot");
  await answerFind(panel, "symbol:tot", [
    { kind: "symbol", label: "total", detail: "shop.py:3", value: "shop.py#L3-9" },
  ]);
  assert.equal(await panel.page.locator("[role=listbox] b").first().textContent(), "tot");
  await press(panel, "Enter");
  assert.equal(await text(panel), "@total ");
  await panel.page.keyboard.type("@fold");
  await answerFind(panel, "fold", [{ ...narrow, label: "folder", value: "folder:" }]);
  await press(panel, "Enter");
  assert.equal(await text(panel), "@total @folder:");
  await panel.page.keyboard.type("sr");
  await answerFind(panel, "folder:sr", FILES.slice(1, 2));
  assert.equal(await panel.page.locator("[role=listbox] b").first().textContent(), "sr");
  await press(panel, "Enter");
  assert.equal(await text(panel), "@total @src/ ");
  assert.deepEqual(await postedActions(panel), [
    { type: "attachMention", value: "shop.py#L3-9", label: "total" },
    { type: "attachMention", value: "src/", label: "src/" },
  ]);
});

test("a chosen command runs, a command with a value completes the value, and an unknown command is sent", async () => {
  const panel = await open(composerState());
  await panel.page.keyboard.type("/comp");
  await press(panel, "Enter");
  assert.equal(await text(panel), "");
  await panel.page.keyboard.type("/mod");
  await press(panel, "Enter");
  assert.equal(await text(panel), "/mode ");
  await panel.page.keyboard.type("pl");
  await press(panel, "Enter");
  await panel.page.keyboard.type("/usr/bin is a path");
  await press(panel, "Enter");
  assert.deepEqual(await postedActions(panel), [
    { type: "command", command: "compact" },
    { type: "mode", mode: "plan" },
    { type: "send", text: "/usr/bin is a path", how: "auto" },
  ]);
});

test("the command /restart runs while the server is stopped", async () => {
  const stopped = { kind: "stopped", reason: "The server has ended" } as const;
  const panel = await open(composerState({ connection: stopped }));
  await panel.page.keyboard.type("/restart");
  await press(panel, "Escape", "Enter");
  assert.deepEqual(await postedActions(panel), [{ type: "command", command: "restart" }]);
});
