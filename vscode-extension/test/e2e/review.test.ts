/** From a prompt to a verdict on each change, to undo and rewind, and through a reload with nothing lost. */
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import type { Locator } from "playwright-core";
import type { Chat } from "../editor/chat.ts";
import { keepPictures, openChat, theModel } from "../editor/shared.ts";
import { INVOICE, SHOP } from "../editor/shop-files.ts";
import { until } from "../editor/waiting.ts";

const DRAFT = "a draft that is not sent yet";
const PROMPT = "rounding Fix the rounding in invoice totals";

describe("a change, from the prompt to the verdict", () => {
  let chat: Chat;
  keepPictures(() => chat);

  const textInEditor = (): Promise<string> =>
    chat.host.run((vscode, folder) => {
      const uri = vscode.Uri.file(`${folder}/shop/invoice.py`);
      return vscode.workspace.openTextDocument(uri).then((document) => document.getText());
    }, chat.folder);

  /** Links of the bars in the editor. Their blanks do not break. */
  const bar = (words: RegExp): Locator =>
    chat.page.locator(".codelens-decoration a").filter({ hasText: words });

  /** What tools gave the model, as its newest request says. */
  const results = async (): Promise<string> => {
    const messages = (await theModel()).requests.at(-1)?.messages ?? [];
    return JSON.stringify(messages.filter((message) => message.role === "tool"));
  };

  before(async () => {
    chat = await openChat({ name: "review", files: SHOP, open: ["shop/invoice.py"] });
  });
  after(() => chat.close());

  test("a command that asks shows its exact text, with the focus on No, and runs on a yes", async () => {
    await chat.send("ask echo it-really-ran");
    await chat.permission.waitFor();
    assert.match((await chat.permission.textContent()) ?? "", /echo it-really-ran/);
    await chat.answer("Once");
    await chat.idle();
    assert.match(await results(), /it-really-ran/);
  });

  test("a no is told to the model, and nothing runs", async () => {
    await chat.send("ask echo it-must-not-run");
    await chat.answer("No");
    await chat.idle();
    assert.doesNotMatch(await results(), /it-must-not-run/);
    await chat.panel.getByText("Understood.").last().waitFor();
  });

  test("an edit of two changes shows both, in the card and in the editor", async () => {
    await chat.ask(PROMPT);
    const text = await textInEditor();
    assert.match(text, /return round\(amount/);
    assert.match(text, /price:\.2f/);
    await chat.panel
      .getByRole("region", { name: /^Diff of/ })
      .first()
      .waitFor();
    await until(
      "two verdicts",
      async () =>
        (await chat.panel.getByRole("button", { name: /^Accept the change/ }).count()) === 2,
    );
    await chat.panel.getByLabel("Pending changes").waitFor();
  });

  test("the file is a remote one for the window, and a path for the model", async () => {
    const shown = chat.page.locator(".editor-instance .monaco-editor[data-uri]").first();
    assert.match((await shown.getAttribute("data-uri")) ?? "", /^vscode-remote:\/\/.*invoice\.py$/);
    const request = JSON.stringify((await theModel()).requests.at(-1));
    assert.match(request, /shop\/invoice\.py/);
    assert.doesNotMatch(request, /vscode-remote/);
  });

  test("the file shows removed words in red, new ones in green, and a bar with keys", async () => {
    await until("the removed words", async () => {
      const drawn = await chat.page.evaluate(drawnBefore);
      return [/round\(/, /,.2\)/].every((words) => drawn.some((text) => words.test(text)));
    });
    await bar(/Accept Ctrl\+K Y/)
      .first()
      .waitFor();
    await bar(/Ctrl\+K \./)
      .first()
      .waitFor();
    for (const theme of ["light", "contrast", "contrast-light", "dark"] as const) {
      await chat.setTheme(theme);
      await chat.picture(`review-in-file-${theme}`);
    }
  });

  test("a change is accepted, the verdict undone, and given again by the bar", async () => {
    const waiting = chat.panel.getByRole("button", { name: /^Accept the change/ });
    await waiting.first().click();
    await until("one verdict left", async () => (await waiting.count()) === 1);
    // The bars follow a moment later: "two bars" must not be those of before.
    await until("one bar", async () => (await bar(/Accept Ctrl\+K Y/).count()) === 1);
    await chat.panel.getByRole("button", { name: "Undo the last verdict" }).click();
    await until("two verdicts again", async () => (await waiting.count()) === 2);
    assert.match(await textInEditor(), /return round\(amount/);
    await until("two bars", async () => (await bar(/Accept Ctrl\+K Y/).count()) === 2);
    // The order of the bars in the page is not that of the lines.
    const first = chat.page.locator(".codelens-decoration").filter({ hasText: "1 of 2" });
    await first.locator("a").filter({ hasText: "Accept Ctrl" }).click();
    await until("one verdict left", async () => (await waiting.count()) === 1);
  });

  test("the other change is rejected, and the panel offers to undo that", async () => {
    await chat.panel
      .getByRole("button", { name: /^Reject the change/ })
      .first()
      .click();
    await chat.panel.getByLabel("Pending changes").waitFor({ state: "detached" });
    await chat.panel
      .getByLabel("Last verdict")
      .getByText(/^Rejected 1 change in /)
      .waitFor();
    const text = await textInEditor();
    assert.match(text, /return round\(amount/);
    assert.doesNotMatch(text, /price:\.2f/);
  });

  test("undo in the editor takes the verdict back and then the edit, as any edit", async () => {
    await chat.page.locator(".monaco-editor .view-lines").first().click();
    await chat.command("undo");
    await until("the rejected change is back", async () => /price:\.2f/.test(await textInEditor()));
    await chat.command("undo");
    await until("the old text", async () => (await textInEditor()) === INVOICE);
    await chat.command("redo");
    await until("the edit", async () => (await textInEditor()) !== INVOICE);
  });

  test("rewind goes back to before the edit, and takes the files back too", async () => {
    await chat.command("undo");
    await until("the old text", async () => (await textInEditor()) === INVOICE);
    await chat.fresh();
    await chat.ask("say The first turn.");
    await chat.ask(PROMPT);
    await until("the edit", async () => (await textInEditor()) !== INVOICE);
    const first = chat.panel.getByRole("toolbar", { name: "Turn 1", exact: true });
    await first.hover();
    await first.getByRole("button", { name: "Rewind to here" }).click();
    await chat.panel.getByRole("button", { name: "Rewind files too" }).click();
    await until("the old text", async () => (await textInEditor()) === INVOICE);
    await chat.panel.getByText(/1 turn left behind/).waitFor();
    await until("the words", async () => (await chat.composer.inputValue()) === PROMPT);
  });

  test("a reload of the window loses nothing: conversation, draft and model", async () => {
    await chat.ask("say The words of before the reload.");
    await chat.composer.fill(DRAFT);
    await until("the draft to be stored", async () =>
      (await chat.stored()).some((text) => text.includes(DRAFT)),
    );
    const before = await chat.host.pid();
    await chat.reload();
    // The old extension host, and its server with the session, stay until the grace time is over.
    await until("the old host to end", () => !isAlive(before));
    await chat.showPanel();
    await chat.panel.getByText("The words of before the reload.").last().waitFor();
    await until("the draft", async () => (await chat.composer.inputValue()) === DRAFT);
    await chat.ask("say And it goes on.");
    await chat.panel.getByText("And it goes on.").last().waitFor();
  });
});

/** Runs in the page of the workbench: the texts that decorations draw before places in the lines. */
function drawnBefore(): readonly string[] {
  return [...document.querySelectorAll(".view-line span")]
    .map((one) => getComputedStyle(one, "::before").content)
    .filter((text) => text !== "none" && text !== "normal");
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}
