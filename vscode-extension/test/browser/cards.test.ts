/** Cards of tool calls and turns: what they show, and what they post to the host. */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { type Pages, type Panel, startPages } from "./page.ts";
import { emptyState, SCENES, text, tool, turn } from "./scenes.ts";

let pages: Pages;
before(async () => {
  pages = await startPages();
});
after(() => pages.close());

async function scene(name: string): Promise<Panel> {
  const panel = await pages.open({ width: 400, height: 1600 });
  const state = SCENES[name];
  assert.ok(state);
  await panel.show(state());
  return panel;
}

async function postedMessages(panel: Panel): Promise<readonly unknown[]> {
  return (await panel.posted()).filter((one) => one.type !== "ready");
}

test("buttons of an edit accept or reject one change, accept all changes and open the diff", async () => {
  const panel = await scene("answered");
  await panel.page.getByRole("button", { name: "Accept the change at line 42" }).click();
  await panel.page.getByRole("button", { name: "Reject the change at line 61" }).click();
  await panel.page.locator(".edit").getByRole("button", { name: "Accept all 2 changes" }).click();
  await panel.page.getByRole("button", { name: "Open diff" }).click();
  assert.deepEqual(await postedMessages(panel), [
    { type: "verdict", verdict: "accept", hunks: ["h1"] },
    { type: "verdict", verdict: "reject", hunks: ["h2"] },
    { type: "verdict", verdict: "accept", hunks: ["h1", "h2"] },
    { type: "openDiff", path: "invoice.py", turn: 1 },
  ]);
});

test("a diff shows line numbers, keeps the indentation and marks changed words", async () => {
  const diff =
    "@@ -41,3 +41,3 @@\n def total(lines):\n-        sum = round(price, 2)\n+        sum = price\n \treturn sum\n";
  const diffs = [{ path: "a.py", added: 1, removed: 1, created: false, diff }];
  const panel = await pages.open();
  await panel.show(
    emptyState({ turns: [turn(1, { parts: [tool("e", "edit_file", "a.py", { diffs })] })] }),
  );
  await panel.page.locator(".diff-line.added").waitFor();
  const all = (selector: string) =>
    panel.page.locator(selector).evaluateAll((found) => found.map((one) => one.textContent));
  assert.deepEqual(await all(".diff-number"), ["41", "42", "42", "43"]);
  assert.deepEqual(await all(".diff-text"), [
    "def total(lines):",
    "        sum = round(price, 2)",
    "        sum = price",
    "\treturn sum",
  ]);
  assert.deepEqual(await all(".diff-word"), ["round(", ", 2)"]);
});

test("the accept button comes before the reject button, for one change and for all", async () => {
  const panel = await scene("answered");
  const buttons = panel.page.locator(".edit").getByRole("button", { name: /^(Accept|Reject)/ });
  const names = await buttons.evaluateAll((all) => all.map((one) => one.ariaLabel));
  assert.deepEqual(names, [
    "Accept the change at line 42",
    "Reject the change at line 42",
    "Accept the change at line 61",
    "Reject the change at line 61",
    "Accept all 2 changes",
    "Reject all 2 changes",
  ]);
});

test("Enter and a click open a card, which requests its details and shows Loading", async () => {
  const panel = await scene("answered");
  const line = panel.page.getByRole("button", { name: "Search round(" });
  const loading = panel.page.locator(".tool.open", { hasText: "Search" }).getByText("Loading");
  await line.focus();
  await panel.page.keyboard.press("Enter");
  assert.deepEqual(await postedMessages(panel), [{ type: "openTool", id: "2", turn: 1 }]);
  assert.equal(await loading.count(), 1);
  await line.click();
  await loading.waitFor({ state: "detached" });
  await line.click();
  await loading.waitFor();
});

for (const name of ["agent", "read_file"])
  test(`an open card of ${name} requests its details once, when its call ends`, async () => {
    const panel = await pages.open({ width: 400, height: 800 });
    const showing = (state: "running" | "done", figure = "") =>
      panel.show(
        emptyState({
          turns: [turn(1, { parts: [tool("7", name, "the tax", { state, figure })] })],
        }),
      );
    await showing("running");
    await panel.page.locator(".tool-line").click();
    assert.deepEqual(await postedMessages(panel), []);
    await showing("done");
    await panel.page.getByText("Loading").waitFor();
    await showing("done", "3 lines");
    assert.deepEqual(await postedMessages(panel), [{ type: "openTool", id: "7", turn: 1 }]);
  });

test("ui_11 changes that a diff cannot show are described in words, and a huge diff is drawn in part", async () => {
  const panel = await scene("odd");
  await panel.page.getByRole("button", { name: /huge\.py/ }).click();
  await panel.page.getByText(/more hunks not shown here/).waitFor();
  const words = await panel.page.locator(".conversation").innerText();
  assert.match(words, /Only line ends change: LF becomes CRLF\./);
  assert.match(words, /A binary file: its bytes are not shown\./);
  assert.match(
    words,
    /Only invisible characters change|Some changes are only of invisible characters|Mode after: 100755/,
  );
  assert.match(words, /U\+200B/);
  assert.match(words, /U\+202E/);
  assert.doesNotMatch(words, /U\+000D/);
  assert.match(words, /199,700 more lines in 99,850 more hunks not shown here: open the diff/);
  assert.ok((await panel.page.locator("*").count()) < 3000);
});

test("ui_11 20,000 pending changes draw fewer than 2,500 elements", async () => {
  const panel = await pages.open();
  const range = { start: { line: 0, character: 0 }, end: { line: 1, character: 0 } };
  const rows = Array.from({ length: 20_000 }, (_, index) => ({
    id: `h${index}`,
    uri: "file:///a.py",
    path: "a.py",
    range,
    old: "a\n",
    new: "b\n",
    turn: 1,
    session: "s1",
    touched: false,
    kind: "change" as const,
    note: "",
  }));
  const diffs = [
    { path: "a.py", added: 1, removed: 1, created: false, diff: "@@ -1 +1 @@\n-a\n+b\n" },
  ];
  await panel.show(
    emptyState({
      turns: [turn(1, { parts: [tool("e", "edit_file", "a.py", { diffs })] })],
      pending: {
        total: rows.length,
        files: 1,
        added: rows.length,
        removed: rows.length,
        rows,
        undo: "",
      },
    }),
  );
  assert.ok((await panel.page.locator("*").count()) < 2500);
});

test("program output is drawn without terminal escapes, and a progress bar in its last state", async () => {
  const panel = await scene("odd");
  await panel.page.getByRole("button", { name: /make -j8/ }).click();
  const output = panel.page.locator(".output");
  await output.evaluate(async (element: HTMLElement) => {
    const frame = () => new Promise((next) => requestAnimationFrame(next));
    while (element.innerText === "") await frame(); // the text is drawn a moment after the card opens
  });
  assert.equal(await output.innerText(), "100 %\nnullU+0000 bellU+0007");
});

test("the message of a failed turn is a sentence that keeps a URL unchanged", async () => {
  const panel = await pages.open();
  const message =
    "http://127.0.0.1:11434/v1 refused the request with status 400; `indwell doctor` says more";
  await panel.show(emptyState({ turns: [turn(1, { ending: "failed", message })] }));
  assert.equal(
    await panel.page.locator(".ending-words p").textContent(),
    "http://127.0.0.1:11434/v1 refused the request with status 400; indwell doctor says more.",
  );
});

test("a failed turn offers the log and a retry", async () => {
  const panel = await scene("failed");
  await panel.page.getByRole("button", { name: "Details" }).click();
  await panel.page.getByRole("button", { name: "Show the log" }).click();
  await panel.page.locator(".ending").getByRole("button", { name: "Retry" }).click();
  assert.deepEqual(await postedMessages(panel), [
    { type: "command", command: "showLog" },
    { type: "retry" },
  ]);
});

test("a failed turn offers the fitting remedy: to change the key or to choose a model", async () => {
  const panel = await pages.open();
  const failed = (remedy: "key" | "model") =>
    emptyState({ turns: [turn(1, { ending: "failed", message: "it was refused", remedy })] });
  await panel.show(failed("key"));
  await panel.page.getByRole("button", { name: "Change key" }).click();
  await panel.show(failed("model"));
  assert.equal(await panel.page.getByRole("button", { name: "Change key" }).count(), 0);
  await panel.page.getByRole("button", { name: "Choose model" }).click();
  assert.deepEqual(await postedMessages(panel), [
    { type: "command", command: "connect" },
    { type: "command", command: "chooseModel" },
  ]);
});

test("Continue on a turn that reached its limit sends a prompt", async () => {
  const panel = await pages.open();
  const parts = [text("a", "Half of it")];
  await panel.show(emptyState({ turns: [turn(1, { ending: "limit", message: "", parts })] }));
  await panel.page.getByRole("button", { name: "Continue" }).click();
  assert.deepEqual(await postedMessages(panel), [
    { type: "send", text: "Continue.", how: "alone" },
  ]);
});

test("the prompt of a code action shows its title, and its full text on demand", async () => {
  const panel = await pages.open();
  const words = "Fix the problems in filesize.py:74-79. Keep the rest as it is.";
  await panel.show(
    emptyState({ turns: [turn(1, { title: "Fix this: filesize.py:74-79", words })] }),
  );
  const prompt = panel.page.locator(".prompt-words");
  assert.match(
    (await prompt.textContent()) ?? "",
    /^Fix this · filesize\.py:74-79 Show the prompt$/,
  );
  await panel.page.getByRole("button", { name: "Show the prompt" }).click();
  assert.ok(((await prompt.textContent()) ?? "").includes(words));
});

test("a retry of a request shows a countdown, and afterwards that it was tried again", async () => {
  const panel = await pages.open();
  const line = (until: number) => ({
    kind: "line" as const,
    key: "r",
    what: "retrying" as const,
    text: "The endpoint is busy",
    until,
  });
  const state = (until: number) =>
    emptyState({ turns: [turn(1, { ending: "running", parts: [line(until)] })] });
  await panel.show(state(Date.now() + 60_000));
  await panel.page.getByText(/The endpoint is busy; trying again in \d+ s/).waitFor();
  await panel.show(state(Date.now() - 1));
  await panel.page.getByText("The endpoint is busy; tried again").waitFor();
});

test("a double click on Retry resends a turn once", async () => {
  const panel = await pages.open();
  await panel.show(emptyState({ turns: [turn(1, { parts: [text("a", "Yes.")] })] }));
  await panel.page.locator(".end").hover();
  await panel.page.getByRole("button", { name: /^Retry: go back/ }).dblclick();
  assert.deepEqual(
    (await panel.posted()).map((one) => one.type).filter((type) => type !== "ready"),
    ["resend"],
  );
});

test("the edited text of a prompt survives the session list, and Escape discards it", async () => {
  const panel = await pages.open();
  const state = emptyState({ turns: [turn(1, { parts: [text("a", "Yes.")] })] });
  await panel.show(state);
  await panel.page.locator(".prompt").hover();
  await panel.page.getByRole("button", { name: "Edit and resend" }).click();
  const field = panel.page.getByRole("textbox", { name: "Edit the prompt" });
  await field.fill("half a change");
  await panel.show({
    ...state,
    revision: 8,
    list: { rows: [], query: "", more: false, loading: false },
  });
  await panel.show({ ...state, revision: 9 });
  assert.equal(await field.inputValue(), "half a change");
  await field.press("Escape");
  await panel.page.locator(".prompt").hover();
  await panel.page.getByRole("button", { name: "Edit and resend" }).click();
  assert.notEqual(await field.inputValue(), "half a change");
});

test("a huge answer is drawn in part, and the rest on demand", async () => {
  const panel = await pages.open();
  const words = "- a line of it\n".repeat(30_000);
  await panel.show(emptyState({ turns: [turn(1, { parts: [text("a", words)] })] }));
  const more = panel.page.getByRole("button", {
    name: /^Show the rest \(150,\d+ more characters\)/,
  });
  const before = await panel.page.locator(".markdown li").count();
  assert.ok(before <= 20_000);
  await more.click();
  await more.waitFor({ state: "detached" });
  assert.equal(await panel.page.locator(".markdown li").count(), 30_000);
});

test("an edited prompt is resent", async () => {
  const panel = await scene("plan");
  await panel.page.locator(".prompt").hover();
  await panel.page.getByRole("button", { name: "Edit and resend" }).click();
  await panel.page.getByLabel("Edit the prompt").fill("Move only the rates");
  await panel.page.keyboard.press("Enter");
  assert.deepEqual(await postedMessages(panel), [
    { type: "resend", turn: 1, text: "Move only the rates" },
  ]);
});

test("a rewind to a turn restores files, keeps files, or is cancelled", async () => {
  const panel = await scene("running");
  for (const choice of ["Rewind files too", "Rewind, keep files", "Cancel"]) {
    await panel.page.locator(".end").first().hover();
    await panel.page.getByRole("button", { name: "Rewind to here" }).click();
    await panel.page.getByRole("button", { name: choice, exact: true }).click();
    assert.equal(await panel.page.getByRole("group", { name: "Rewind to here" }).count(), 0);
  }
  assert.deepEqual(await postedMessages(panel), [
    { type: "rewind", turn: 1, files: true },
    { type: "rewind", turn: 1, files: false },
  ]);
});

test("screen readers announce how a turn ended, and nothing while it streams", async () => {
  const panel = await scene("running");
  const region = panel.page.locator("[data-part=announcer]");
  assert.equal(await region.textContent(), "");
  await panel.show(emptyState({ revision: 9, turns: [turn(1, { parts: [text("a", "Yes.")] })] }));
  assert.equal(await region.textContent(), "Turn 1 done.");
});

test("the buttons of a code block copy, insert and apply its code", async () => {
  const panel = await pages.open();
  await panel.show(
    emptyState({ turns: [turn(1, { parts: [text("a", "```python src/a.py\nx = 1\n```\n")] })] }),
  );
  await panel.page.locator(".code").hover();
  for (const name of ["Copy code", "Insert at the cursor", "Apply as an edit"])
    await panel.page.getByRole("button", { name }).click();
  assert.deepEqual(await postedMessages(panel), [
    { type: "copy", text: "x = 1" },
    { type: "insertCode", text: "x = 1" },
    { type: "applyCode", text: "x = 1", target: "src/a.py" },
  ]);
});
