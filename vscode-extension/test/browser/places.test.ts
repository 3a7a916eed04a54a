/** Header, session list, first run and bars: what they show and post, and that no API key stays in the page. */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { ToHost } from "../../src/shared/messages.ts";
import type { PanelState } from "../../src/shared/state/state.ts";
import { type Pages, type Panel, startPages } from "./page.ts";
import { emptyState, turn } from "./scenes.ts";
import { CHOICE, FAILED, flow, MARKS, PENDING, SESSIONS } from "./scenes-places.ts";
import { permission } from "./scenes-questions.ts";

const KEY = "sk-canary-0123456789";

let pages: Pages;
before(async () => {
  pages = await startPages();
});
after(() => pages.close());

async function openWith(state: PanelState): Promise<Panel> {
  const panel = await pages.open({ width: 400, height: 800 });
  await panel.page.bringToFront();
  await panel.show(state);
  return panel;
}

async function posted(panel: Panel, type: ToHost["type"]): Promise<readonly ToHost[]> {
  return (await panel.posted()).filter((one) => one.type === type);
}

test("an API key is posted in one message and is then nowhere in the page", async () => {
  const panel = await openWith(emptyState({ session: null, firstRun: flow() }));
  const field = panel.page.locator('input[type="password"]');
  await field.fill(KEY);
  await panel.page.keyboard.press("Enter");
  assert.deepEqual(await posted(panel, "login"), [
    { type: "login", provider: "openai", key: KEY, url: null, model: null },
  ]);
  assert.equal(await field.inputValue(), "");
  const html = await panel.page.evaluate(() => document.documentElement.outerHTML);
  assert.ok(!html.includes(KEY));
});

test("without a local server, a key can be pasted and a model used without a click", async () => {
  const { providers } = flow();
  const alone = flow({ providers: providers && { ...providers, local: [], editor: [] } });
  const panel = await openWith(emptyState({ session: null, firstRun: alone }));
  await panel.page.locator('input[type="password"]:focus').waitFor();
  await panel.page.keyboard.insertText(KEY);
  await panel.page.keyboard.press("Enter");
  await panel.show(emptyState({ session: null, firstRun: { ...alone, outcome: CHOICE } }));
  await panel.page.locator(".first-run-outcome button:focus").waitFor();
  await panel.page.keyboard.press("Enter");
  const sent = await posted(panel, "login");
  assert.deepEqual(
    sent.map((one) => one.type === "login" && [one.key, one.model]),
    [
      [KEY, null],
      [null, CHOICE.models[0]],
    ],
  );
});

test("the message that chooses a model does not repeat the key", async () => {
  const panel = await openWith(emptyState({ session: null, firstRun: flow() }));
  await panel.page.locator('input[type="password"]').fill(KEY);
  await panel.page.keyboard.press("Enter");
  await panel.show(emptyState({ session: null, firstRun: flow({ outcome: CHOICE }) }));
  assert.equal(await panel.page.locator(".step.fail").count(), 0);
  await panel.page.getByRole("combobox", { name: "Model", exact: true }).selectOption("gpt-6");
  await panel.page.locator(".first-run-outcome button").click();
  assert.deepEqual((await posted(panel, "login")).at(-1), {
    type: "login",
    provider: "openai",
    key: null,
    url: null,
    model: "gpt-6",
  });
});

test("a local server is used with the selected model and without a key, and its note is shown", async () => {
  const panel = await openWith(emptyState({ session: null, firstRun: flow() }));
  assert.match((await panel.page.locator(".first-run-note").textContent()) ?? "", /4,096 tokens/);
  await panel.page.locator(".first-run-local select").selectOption("gpt-oss:20b");
  await panel.page.locator(".first-run-local button").click();
  assert.deepEqual(await posted(panel, "login"), [
    {
      type: "login",
      provider: "http://127.0.0.1:11434/v1",
      key: "",
      url: null,
      model: "gpt-oss:20b",
    },
  ]);
});

test("a custom provider needs an address before it is tested, and a failed step says what to do", async () => {
  const panel = await openWith(emptyState({ session: null, firstRun: flow({ outcome: FAILED }) }));
  assert.match((await panel.page.locator(".step.fail").textContent()) ?? "", /Make a new one at/);
  await panel.page.locator(".first-run-form select").selectOption("own");
  await panel.page.getByRole("button", { name: "Test and connect" }).click();
  assert.deepEqual(await posted(panel, "login"), []);
  await panel.page.getByRole("textbox", { name: "Address" }).fill("https://llm.example/v1");
  await panel.page.keyboard.press("Enter");
  assert.deepEqual(await posted(panel, "login"), [
    { type: "login", provider: "https://llm.example/v1", key: "", url: null, model: null },
  ]);
  await panel.page.getByRole("button", { name: "Not now" }).click();
  assert.equal((await posted(panel, "firstRun")).length, 1);
});

test("the session list is searched, used and closed by keyboard", async () => {
  const list = { query: "", rows: SESSIONS, more: false, loading: false };
  const panel = await openWith(emptyState({ list }));
  await panel.page.keyboard.type("inv");
  await panel.page.waitForFunction(() =>
    Reflect.get(window, "__posted").some((one: { type: string }) => one.type === "sessions"),
  );
  assert.deepEqual(await posted(panel, "sessions"), [
    { type: "sessions", query: "inv", more: false },
  ]);
  await panel.page.keyboard.press("ArrowDown");
  await panel.page.keyboard.press("ArrowDown");
  await panel.page.keyboard.press("Enter");
  assert.deepEqual(await posted(panel, "openSession"), [{ type: "openSession", session: "s2" }]);
  await panel.page.keyboard.press("Control+Enter");
  assert.deepEqual(await posted(panel, "openInEditor"), [{ type: "openInEditor", session: "s2" }]);
  await panel.page.keyboard.press("F2");
  await panel.page.keyboard.type("Importer");
  await panel.page.keyboard.press("Enter");
  assert.deepEqual(await posted(panel, "renameSession"), [
    { type: "renameSession", session: "s2", title: "Importer" },
  ]);
  await panel.page.locator(".session-open").nth(1).focus();
  await panel.page.keyboard.press("Delete");
  assert.deepEqual(await posted(panel, "deleteSession"), [
    { type: "deleteSession", session: "s2" },
  ]);
  await panel.page.keyboard.press("Escape");
  assert.equal((await posted(panel, "closeSessions")).length, 1);
});

test("the session list requests older sessions once when its end comes into view", async () => {
  const panel = await openWith(
    emptyState({ list: { query: "", rows: SESSIONS, more: true, loading: false } }),
  );
  await panel.page.waitForFunction(() =>
    Reflect.get(window, "__posted").some((one: { type: string }) => one.type === "sessions"),
  );
  assert.deepEqual(await posted(panel, "sessions"), [{ type: "sessions", query: "", more: true }]);
});

test("a damaged session says what is wrong with it", async () => {
  const panel = await openWith(
    emptyState({ list: { query: "", rows: SESSIONS, more: false, loading: false } }),
  );
  assert.match((await panel.page.locator(".session-notice").textContent()) ?? "", /cannot be read/);
});

test("F2 or a click edits the session title in place, Enter renames it and Escape cancels", async () => {
  const panel = await openWith(emptyState({ turns: [turn(1)] }));
  await panel.page.locator(".header-title").focus();
  await panel.page.keyboard.press("F2");
  await panel.page.keyboard.type("x");
  await panel.page.keyboard.press("Escape");
  assert.deepEqual(await posted(panel, "renameSession"), []);
  await panel.page.locator(".header-title").click();
  await panel.page.keyboard.type("Rounding");
  await panel.page.keyboard.press("Enter");
  assert.deepEqual(await posted(panel, "renameSession"), [
    { type: "renameSession", session: "s1", title: "Rounding" },
  ]);
});

test("pending changes expand to files, each of which can be rejected, and lead to the review", async () => {
  const panel = await openWith(emptyState({ turns: [turn(1)], pending: PENDING }));
  await panel.page.locator(".pending-toggle").click();
  await panel.page
    .getByRole("button", { name: "Reject the changes of shop/billing/invoice.py" })
    .click();
  await panel.page.getByRole("button", { name: "Review", exact: true }).click();
  assert.deepEqual(await posted(panel, "verdict"), [
    { type: "verdict", verdict: "reject", hunks: ["c1", "c2"] },
  ]);
  assert.deepEqual(await posted(panel, "command"), [{ type: "command", command: "review" }]);
});

test("the last verdict can be undone while changes are pending, and after no change is left", async () => {
  const panel = await openWith(emptyState({ turns: [turn(1)], pending: PENDING }));
  const undo = panel.page.getByRole("button", { name: "Undo the last verdict" });
  assert.match((await undo.getAttribute("title")) ?? "", /accepted 1 change in shop\/cart\.py/);
  await undo.click();
  const none = { total: 0, files: 0, added: 0, removed: 0, rows: [] };
  await panel.show(
    emptyState({ turns: [turn(1)], pending: { ...none, undo: "rejected 2 changes in a.py" } }),
  );
  const last = panel.page.getByRole("region", { name: "Last verdict" });
  await last.getByText("Rejected 2 changes in a.py").waitFor();
  await last.getByRole("button", { name: "Undo" }).click();
  const command = { type: "command", command: "undoVerdict" };
  assert.deepEqual(await posted(panel, "command"), [command, command]);
});

test("an empty panel without a model offers ways to connect one", async () => {
  const { status: baseStatus } = emptyState({});
  if (baseStatus === null) assert.fail("the state has a status");
  const status = { ...baseStatus, model: "", lacking: "no model is set; run `indwell login`" };
  const panel = await openWith(emptyState({ session: null, status }));
  assert.equal(await panel.page.locator(".start-lacking").textContent(), "No model is set yet.");
  await panel.page.getByRole("button", { name: "Connect a model", exact: true }).click();
  await panel.page.getByRole("button", { name: "Use Copilot’s models", exact: true }).click();
  await panel.page.getByRole("button", { name: "Try without a key", exact: true }).click();
  const near = { title: "Ollama", url: "http://a/v1", model: "small" };
  await panel.show(emptyState({ session: null, status, near }));
  await panel.page.getByRole("button", { name: "Use small", exact: true }).click();
  assert.deepEqual(await posted(panel, "login"), [
    { type: "login", provider: near.url, key: "", url: null, model: "small" },
  ]);
  assert.deepEqual(await posted(panel, "command"), [
    { type: "command", command: "connect" },
    { type: "command", command: "useEditorModels" },
    { type: "command", command: "demo" },
  ]);
});

test("a demo says that its answers are scripted, and offers to connect a model", async () => {
  const { status: baseStatus } = emptyState({});
  if (baseStatus === null) assert.fail("the state has a status");
  const panel = await openWith(
    emptyState({ session: null, status: { ...baseStatus, demo: "scripted" } }),
  );
  await panel.page.getByText("Demo: a script answers, no language model.").waitFor();
  await panel.page.getByRole("button", { name: "Fix this", exact: true }).click();
  await panel.page.getByRole("button", { name: "Connect a model", exact: true }).click();
  await panel.show(emptyState({ turns: [turn(1)], status: { ...baseStatus, demo: "connected" } }));
  await panel.page.getByRole("button", { name: "Open a folder", exact: true }).click();
  assert.deepEqual(await posted(panel, "command"), [
    { type: "command", command: "demo" },
    { type: "command", command: "connect" },
    { type: "command", command: "openFolder" },
  ]);
});

test("a line names the files that are left out and leads to the trust decision", async () => {
  const { status: baseStatus } = emptyState({});
  if (baseStatus === null) assert.fail("the state has a status");
  const undecided = "1 file of settings and 2 files of instructions";
  const panel = await openWith(
    emptyState({ turns: [turn(1)], status: { ...baseStatus, undecided } }),
  );
  await panel.page.getByText(`Files left out: ${undecided}.`).waitFor();
  await panel.page.getByRole("button", { name: "Decide…", exact: true }).click();
  assert.deepEqual(await posted(panel, "command"), [{ type: "command", command: "trust" }]);
  await panel.show(emptyState({ turns: [turn(1)] }));
  await panel.page.getByText(/^Files left out/).waitFor({ state: "detached" });
});

test("a line names an MCP server that is not approved and leads to the decision", async () => {
  const { status: baseStatus } = emptyState({});
  if (baseStatus === null) assert.fail("the state has a status");
  const turns = [turn(1)];
  const panel = await openWith(
    emptyState({ turns, status: { ...baseStatus, unapproved: ["paper"] } }),
  );
  await panel.page.getByText("The MCP server paper is not used.", { exact: true }).waitFor();
  await panel.page.getByRole("button", { name: "Decide…", exact: true }).click();
  assert.deepEqual(await posted(panel, "command"), [{ type: "command", command: "mcp" }]);
  await panel.show(emptyState({ turns }));
  await panel.page.getByText(/^The MCP server/).waitFor({ state: "detached" });
});

test("a suggestion is sent unchanged, and a question is visible above the session list", async () => {
  const panel = await openWith(
    emptyState({ session: null, suggestions: [{ title: "Explain it", prompt: "Explain a.py." }] }),
  );
  await panel.page.locator(".suggestion").click();
  assert.deepEqual(await posted(panel, "send"), [
    { type: "send", text: "Explain a.py.", how: "auto" },
  ]);
  await panel.show(
    emptyState({
      list: { query: "", rows: SESSIONS, more: false, loading: false },
      questions: [
        { kind: "ask", nonce: "a", prompt: "What?", placeholder: "", by: "indwell", options: [] },
      ],
    }),
  );
  assert.equal(await panel.page.locator(".question").isVisible(), true);
});

test("the text of the session list is aligned with the title in the header", async () => {
  const panel = await openWith(emptyState({ turns: [turn(1, { words: "Fix it" })] }));
  const left = async (selector: string): Promise<number> => {
    const words = panel.page.locator(selector).first();
    return words.evaluate((element) => {
      const range = document.createRange();
      range.selectNodeContents(element);
      return range.getBoundingClientRect().left;
    });
  };
  const begin = await left(".header-title");
  const list = { query: "", rows: SESSIONS, more: true, loading: false };
  await panel.show(emptyState({ list }));
  for (const selector of [".sessions-head h1", ".sessions h2", ".session-title"])
    assert.equal(await left(selector), begin, selector);
});

test("a question of another session is a line that names and opens the session, not a card", async () => {
  const question = permission({ session: "s2", title: "Run a command?" }, "behind");
  const panel = await openWith(emptyState({ marks: MARKS, questions: [question] }));
  assert.equal(await panel.page.locator("[role=alertdialog]").count(), 0);
  const row = panel.page.locator(".others-row.asking");
  assert.match((await row.textContent()) ?? "", /Write tests for the importer.*Run a command/);
  await row.getByRole("button", { name: "Show" }).click();
  assert.deepEqual(await posted(panel, "openSession"), [{ type: "openSession", session: "s2" }]);
  const rest = panel.page.locator(".others-row:not(.asking)");
  assert.match((await rest.textContent()) ?? "", /1 running, 1 failed, 1 done/);
  await panel.show(emptyState({ session: "s2", marks: MARKS, questions: [question] }));
  await panel.page.locator("[role=alertdialog]").waitFor();
});

test("the session list marks the sessions that ask, run, failed or are done", async () => {
  const list = { query: "", rows: SESSIONS, more: false, loading: false };
  const panel = await openWith(emptyState({ marks: MARKS, list }));
  const badges = await panel.page.locator(".work-badge").allTextContents();
  assert.deepEqual(
    badges.map((one) => one.trim()),
    ["Asks you", "Running", "Failed", "Done"],
  );
});
