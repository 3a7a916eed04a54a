/** Changes from the prompt to the verdict: permissions, review, undo, rewind, and a reload of the window. */
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import type { Locator } from "playwright-core";
import type { Chat } from "../editor/chat.ts";
import { openChat, pictureFailures, theModel } from "../editor/shared.ts";
import { INVOICE, SHOP } from "../editor/shop-files.ts";
import { until } from "../editor/waiting.ts";

const DRAFT = "a draft that is not sent yet";
const PROMPT = "rounding Fix the rounding in invoice totals";

describe("a change from the prompt to the verdict", () => {
  let chat: Chat;
  pictureFailures(() => chat);

  const textInEditor = (): Promise<string> =>
    chat.host.run((vscode, folder) => {
      const uri = vscode.Uri.file(`${folder}/shop/invoice.py`);
      return vscode.workspace.openTextDocument(uri).then((document) => document.getText());
    }, chat.folder);

  /** Links of the code lenses in the editor. Their blanks are non-breaking. */
  const codeLens = (words: RegExp): Locator =>
    chat.page.locator(".codelens-decoration a").filter({ hasText: words });

  /** The tool results in the newest request to the model. */
  const results = async (): Promise<string> => {
    const messages = (await theModel()).requests.at(-1)?.messages ?? [];
    return JSON.stringify(messages.filter((message) => message.role === "tool"));
  };

  before(async () => {
    chat = await openChat({ name: "review", files: SHOP, open: ["shop/invoice.py"] });
  });
  after(() => chat.close());

  test("a command that needs permission shows its text, Go to the Question focuses No, and Once runs it", async () => {
    await chat.send("ask echo it-really-ran");
    await chat.permission.waitFor();
    assert.match((await chat.permission.textContent()) ?? "", /echo it-really-ran/);
    // The card leaves the focus in the composer, because the user may be typing.
    await chat.panel.locator(".prompt-text:focus").waitFor();
    await chat.palette("Go to the Question");
    const no = chat.permission.getByRole("button", { name: "No", exact: true });
    await no.and(chat.panel.locator(":focus")).waitFor();
    await chat.answer("Once");
    await chat.idle();
    assert.match(await results(), /it-really-ran/);
  });

  test("a refused command does not run, and the model goes on", async () => {
    await chat.send("ask echo it-must-not-run");
    await chat.answer("No");
    await chat.idle();
    assert.doesNotMatch(await results(), /it-must-not-run/);
    await chat.panel.getByText("Understood.").last().waitFor();
  });

  test("an edit with two changes is in the editor, and its card shows both", async () => {
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

  test("the window opens the file as a remote file, and the model sees its path", async () => {
    const shown = chat.page.locator(".editor-instance .monaco-editor[data-uri]").first();
    assert.match((await shown.getAttribute("data-uri")) ?? "", /^vscode-remote:\/\/.*invoice\.py$/);
    const request = JSON.stringify((await theModel()).requests.at(-1));
    assert.match(request, /shop\/invoice\.py/);
    assert.doesNotMatch(request, /vscode-remote/);
  });

  test("the editor shows the removed words and code lenses with their keys", async () => {
    await until("the removed words", async () => {
      const drawn = await chat.page.evaluate(insertedTexts);
      return [/round\(/, /,.2\)/].every((words) => drawn.some((text) => words.test(text)));
    });
    await codeLens(/Accept Ctrl\+K Y/)
      .first()
      .waitFor();
    await codeLens(/Ctrl\+K \./)
      .first()
      .waitFor();
    for (const theme of ["light", "contrast", "contrast-light", "dark"] as const) {
      await chat.setTheme(theme);
      await chat.picture(`review-in-file-${theme}`);
    }
  });

  test("a change is accepted in the panel, the verdict is undone, and it is accepted by code lens", async () => {
    const waiting = chat.panel.getByRole("button", { name: /^Accept the change/ });
    await waiting.first().click();
    await until("one verdict left", async () => (await waiting.count()) === 1);
    // The code lenses change a moment later: the two earlier ones must not count below.
    await until("one code lens", async () => (await codeLens(/Accept Ctrl\+K Y/).count()) === 1);
    await chat.panel.getByRole("button", { name: "Undo the last verdict" }).click();
    await until("two verdicts again", async () => (await waiting.count()) === 2);
    assert.match(await textInEditor(), /return round\(amount/);
    await until("two code lenses", async () => (await codeLens(/Accept Ctrl\+K Y/).count()) === 2);
    // The code lenses are not in the order of the lines.
    const first = chat.page.locator(".codelens-decoration").filter({ hasText: "1 of 2" });
    await first.locator("a").filter({ hasText: "Accept Ctrl" }).click();
    await until("one verdict left", async () => (await waiting.count()) === 1);
  });

  test("the other change is rejected, and the panel shows the last verdict", async () => {
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

  test("undo in the editor reverts the rejection and then the edit", async () => {
    await chat.page.locator(".monaco-editor .view-lines").first().click();
    await chat.command("undo");
    await until("the rejected change is back", async () => /price:\.2f/.test(await textInEditor()));
    await chat.command("undo");
    await until("the old text", async () => (await textInEditor()) === INVOICE);
    await chat.command("redo");
    await until("the edit", async () => (await textInEditor()) !== INVOICE);
  });

  test("a rewind restores the files and returns the prompt to the composer", async () => {
    await chat.command("undo");
    await until("the old text", async () => (await textInEditor()) === INVOICE);
    await chat.newSession();
    await chat.ask("say The first turn.");
    await chat.ask(PROMPT);
    await until("the edit", async () => (await textInEditor()) !== INVOICE);
    const first = chat.panel.getByRole("toolbar", { name: "Turn 1", exact: true });
    await first.hover();
    await first.getByRole("button", { name: "Rewind to here" }).click();
    await chat.panel.getByRole("button", { name: "Rewind files too" }).click();
    await until("the old text", async () => (await textInEditor()) === INVOICE);
    await chat.panel.getByText(/1 turn left behind/).waitFor();
    await until("the prompt", async () => (await chat.composer.inputValue()) === PROMPT);
  });

  test("a reload of the window keeps the conversation, the draft and the model", async () => {
    await chat.ask("say The words of before the reload.");
    await chat.composer.fill(DRAFT);
    await until("the draft to be stored", async () =>
      (await chat.stored()).some((text) => text.includes(DRAFT)),
    );
    const before = await chat.host.pid();
    await chat.reload();
    // The old extension host and its server keep the session until the grace time ends.
    await until("the old host to end", () => !isAlive(before));
    await chat.showPanel();
    await chat.panel.getByText("The words of before the reload.").last().waitFor();
    await until("the draft", async () => (await chat.composer.inputValue()) === DRAFT);
    await chat.ask("say And it goes on.");
    await chat.panel.getByText("And it goes on.").last().waitFor();
  });
});

/** Runs in the page of the workbench. Returns the texts that decorations insert into lines. */
function insertedTexts(): readonly string[] {
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
