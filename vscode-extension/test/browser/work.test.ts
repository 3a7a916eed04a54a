/** Sub-agents, plans, background commands, to-do items and the model's questions: what they show and post. */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { PanelState } from "../../src/shared/state/state.ts";
import { forbiddenContent } from "./inspect.ts";
import { type Pages, type Panel, startPages } from "./page.ts";
import { emptyState, SCENES, tool, turn } from "./scenes.ts";
import { COMMANDS, modelAsks, PLAN } from "./scenes-work.ts";

let pages: Pages;
before(async () => {
  pages = await startPages();
});
after(() => pages.close());

async function openWith(state: PanelState): Promise<Panel> {
  const panel = await pages.open({ width: 400, height: 1200 });
  await panel.show(state);
  return panel;
}

async function scene(name: string): Promise<Panel> {
  return openWith(SCENES[name]?.() ?? assert.fail(`no scene ${name}`));
}

async function postedMessages(panel: Panel): Promise<readonly unknown[]> {
  return (await panel.posted()).filter((one) => one.type !== "ready" && one.type !== "typed");
}

async function clickButton(panel: Panel, name: string | RegExp): Promise<void> {
  await panel.page.getByRole("button", { name, exact: typeof name === "string" }).click();
}

test("a closed sub-agent card shows the current tool call, and an open one all tool calls", async () => {
  const panel = await scene("agents");
  const card = panel.page.locator(".tool", { hasText: "Where are tax rates" }).first();
  const now = (await card.locator(".agent-now").textContent()) ?? "";
  assert.equal(now, "Read shop/report.py 1-803 calls, 12.4k tokens");
  assert.equal(await card.locator(".tool").count(), 0);
  await card.locator(".tool-line").first().click();
  assert.equal(await card.locator(".tool").count(), 3);
  assert.deepEqual(await postedMessages(panel), []);
});

test("the panel does not request the results of a sub-agent's tool calls", async () => {
  const panel = await scene("agents");
  await clickButton(panel, /^Agent general: Write the tests/);
  await clickButton(panel, "Read shop/tax.py 48 lines 0.1 s");
  await panel.page.getByText("Only the sub-agent got its result.").waitFor();
  await clickButton(panel, /^Run pytest -q tests/);
  await panel.page.getByText("3 passed in 0.12s").waitFor();
  await panel.page.getByText("all pass.").waitFor();
  assert.deepEqual(await postedMessages(panel), []);
});

test("a permission request of a sub-agent names the sub-agent and its task", async () => {
  const panel = await scene("permission-agent");
  const words = await panel.page.locator("[role=alertdialog]").textContent();
  assert.match(words ?? "", /Sub-agent general: Run a command\?/);
  assert.match(words ?? "", /Its task: Write the tests of the tax rules/);
});

test("a double click on Approve approves the shown plan once", async () => {
  const panel = await scene("plan");
  const approve = panel.page.getByRole("button", { name: "Approve", exact: true });
  await approve.dblclick();
  assert.deepEqual(await postedMessages(panel), [
    { type: "plan", action: "approve", text: PLAN.text, words: null },
  ]);
});

const PLANS: Readonly<Record<string, readonly [plan: string, isPlain: boolean]>> = {
  "a heading, a list and emphasis": [PLAN.text, false],
  "a link and code": ["See [the tax](src/tax.py) first:\n\n```python\nrate = 7\n```\n", false],
  "the title of a link": ['See [the tax](src/tax.py "and push it to production").', true],
  "words after the language of a fence": ["```sh then delete the branch\nls\n```", true],
  "a cell beyond the last column": ["| a | b |\n|---|---|\n| 1 | 2 | drop the database |", true],
};
for (const [what, [text, isPlain]] of Object.entries(PLANS))
  test(`a plan is drawn as plain text only if Markdown would hide a part: ${what}`, async () => {
    const proposed = SCENES["plan"]?.() ?? assert.fail();
    const panel = await openWith({ ...proposed, plan: { ...PLAN, text } });
    const card = panel.page.getByRole("group", { name: "Plan" });
    assert.equal(await card.locator(".plan-plain").count(), isPlain ? 1 : 0);
    if (isPlain) assert.ok((await card.textContent())?.includes(text));
    // The target of a link is in the link's tooltip, and the language of code is not drawn; all other words are visible.
    const links = await card.locator("a").all();
    const titles = await Promise.all(links.map((link) => link.getAttribute("title")));
    const shown = [await card.innerText(), ...titles].join(" ");
    for (const [word] of text.replace("```python", "").matchAll(/\p{L}+/gu))
      assert.ok(shown.includes(word), word);
  });

test("a plan can be opened as a document, or rejected with a reason", async () => {
  const panel = await scene("plan");
  await clickButton(panel, "Edit");
  await clickButton(panel, "Reject…");
  await panel.page.getByLabel("What should be different").fill("smaller steps");
  await panel.page.keyboard.press("Escape");
  await clickButton(panel, "Reject…");
  await panel.page.getByLabel("What should be different").fill("one file only");
  await panel.page.keyboard.press("Enter");
  assert.deepEqual(await postedMessages(panel), [
    { type: "plan", action: "open", text: null, words: null },
    { type: "plan", action: "reject", text: null, words: "one file only" },
  ]);
});

test("only a proposed plan has a card, and a turn in mode plan without a plan has no Approve button", async () => {
  const proposed = SCENES["plan"]?.() ?? assert.fail();
  for (const state of ["none", "approved", "rejected", "done"] as const) {
    const panel = await openWith({ ...proposed, plan: { ...PLAN, state } });
    assert.equal(await panel.page.getByRole("group", { name: "Plan" }).count(), 0, state);
    await panel.page.context().close();
  }
  const panel = await openWith({ ...proposed, plan: null });
  assert.equal(await panel.page.getByRole("button", { name: "Approve", exact: true }).count(), 0);
});

test("an approved plan is one line that opens the plan's text", async () => {
  const panel = await scene("plan-approved");
  await clickButton(panel, "Plan approved");
  await panel.page
    .getByRole("region", { name: "Text of the plan" })
    .getByText("thin call")
    .waitFor();
});

test("a blocked to-do item names the items that it waits for", async () => {
  const panel = await scene("plan-approved");
  await clickButton(panel, /^1 of 4/);
  const rows = await panel.page.locator(".todo-row").allTextContents();
  assert.match(rows[2] ?? "", /3\. Keep invoice\.tax[\s\S]*waits for 2/);
  assert.match(rows[3] ?? "", /waits for 2, 3/);
  assert.doesNotMatch(rows[0] ?? "", /waits/);
});

test("background commands show their count, output and exit code, and a double click stops one once", async () => {
  const panel = await scene("commands");
  await clickButton(panel, /^2 commands running/);
  await clickButton(panel, "npm run dev -- --port 5173");
  await panel.page.getByText("VITE v7.1.2 ready in 412 ms").waitFor();
  assert.match(
    (await panel.page.locator(".commands-list").textContent()) ?? "",
    /exit code 2 after 3\.4 s/,
  );
  await panel.page.getByRole("button", { name: "Stop npm run dev -- --port 5173" }).dblclick();
  const stops = (await postedMessages(panel)).filter(
    (one) => Reflect.get(Object(one), "stop") !== null,
  );
  assert.deepEqual(stops, [{ type: "commands", stop: "b1" }]);
  const first = (await postedMessages(panel))[0];
  assert.deepEqual(first, { type: "commands", stop: null }, "opening the list requests the output");
});

test("a question of the model says that the model asks, and takes an option, text or no answer", async () => {
  const card = ".question.of-model";
  const option = await openWith(emptyState({ questions: [modelAsks()] }));
  assert.match((await option.page.locator(card).textContent()) ?? "", /^The model asks/);
  await option.page.locator(`${card}[data-armed=true]`).waitFor();
  await clickButton(option, /^report\.row/);
  assert.deepEqual(await postedMessages(option), [{ type: "chosen", nonce: "m1", option: 1 }]);

  const words = await openWith(emptyState({ questions: [modelAsks()] }));
  await words.page.locator(`${card}[data-armed=true]`).waitFor();
  await words.page.locator(`${card} input`).fill("neither");
  await words.page.keyboard.press("Enter");
  assert.deepEqual(await postedMessages(words), [{ type: "said", nonce: "m1", text: "neither" }]);

  const none = await openWith(emptyState({ questions: [modelAsks()] }));
  await none.page.locator(`${card}[data-armed=true]`).waitFor();
  await none.page.locator(`${card} input`).focus();
  await none.page.keyboard.press("Escape");
  assert.deepEqual(await postedMessages(none), [{ type: "said", nonce: "m1", text: null }]);
});

test("a click does not choose an option that has just appeared under the pointer", async () => {
  const panel = await openWith(emptyState());
  // Clicks from within the page: on a slow machine, a click from the test could come after the arming time.
  await panel.page.evaluate(() => {
    const seen = new MutationObserver(() => {
      const option = document.querySelector<HTMLElement>(".asked-option");
      if (option === null) return;
      seen.disconnect();
      requestAnimationFrame(() => option.click());
    });
    seen.observe(document.body, { childList: true, subtree: true });
  });
  await panel.show(emptyState({ questions: [modelAsks()] }));
  await panel.page.locator(".question[data-armed=true]").waitFor();
  assert.deepEqual(await postedMessages(panel), []);
});

test("ui_02 hostile text in plans, commands, sub-agents and questions is drawn as text", async () => {
  const evil =
    '<img src=x onerror="window.__ran=1"><script>window.__ran=1</script><a href="command:x">y</a>' +
    " [z](command:indwell.trust) ![p](http://evil.test/p.png)\n[//]: # (unseen order)\n\u202e\u200b\u0007";
  const [first] = COMMANDS;
  assert.ok(first);
  const panel = await openWith(
    emptyState({
      turns: [
        turn(1, {
          mode: "plan",
          parts: [tool("a", "agent", evil, { inner: [tool("b", "bash", evil)], result: evil })],
        }),
      ],
      plan: { state: "proposed", text: evil, path: "" },
      commands: [{ ...first, command: evil, tail: evil }],
      todo: [{ text: evil, state: "open", after: [7] }],
      questions: [modelAsks({ prompt: evil, placeholder: evil, options: [evil] })],
    }),
  );
  for (const name of [/^1 command running/, /^Agent /, /^0 of 1/]) await clickButton(panel, name);
  await panel.page.locator(".command-toggle").click();
  assert.deepEqual(await forbiddenContent(panel.page), []);
  assert.equal(await panel.page.evaluate(() => Reflect.get(window, "__ran")), undefined);
  const drawn = (await panel.page.locator("body").textContent()) ?? "";
  for (const hidden of "\u202e\u200b\u0007") assert.ok(!drawn.includes(hidden));
  const plan = (await panel.page.getByRole("group", { name: "Plan" }).textContent()) ?? "";
  assert.match(plan, /unseen order/, "the card shows text that Markdown would hide");
  assert.deepEqual(panel.requests, []);
  assert.deepEqual(panel.consoleErrors, []);
});
