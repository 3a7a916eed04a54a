/** Sending, stopping, steering, waiting, failing, and what goes along with a prompt. */
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import type * as VSCode from "vscode";
import type { Chat } from "../editor/chat.ts";
import { call, inOrder, say, wait } from "../editor/model-script.ts";
import { keepPictures, openChat, theModel } from "../editor/shared.ts";
import { SHOP } from "../editor/shop-files.ts";
import { until } from "../editor/waiting.ts";

describe("talking with the model", () => {
  let chat: Chat;
  keepPictures(() => chat);
  before(async () => {
    chat = await openChat({ name: "talking", files: SHOP, open: ["shop/invoice.py"] });
  });
  after(() => chat.close());

  /** What the model got in its newest request. */
  const newest = async (): Promise<string> => JSON.stringify((await theModel()).requests.at(-1));

  test("Escape stops the turn, and what came stays", async () => {
    await chat.send("hang Half an answer");
    await chat.panel.getByText("Half an answer …").waitFor();
    await chat.composer.press("Escape");
    await chat.idle();
    await chat.panel.getByText("Half an answer …").waitFor();
  });

  test("words while a turn runs steer it, and the model hears them", async () => {
    await chat.fresh();
    let letGo: () => void = () => undefined;
    const held = new Promise<void>((done) => {
      letGo = done;
    });
    const model = await theModel();
    // The turn goes on until the words are there, however late they come on a busy machine.
    const isHeard = (): boolean => /mind the tests too/.test(JSON.stringify(model.requests.at(-1)));
    model.on("twice", (round) => {
      if (round === 0) {
        return [say("Reading. "), wait(held), call("read_file", { path: "README.md" })];
      }
      return isHeard()
        ? [say("Heard.")]
        : [call("read_file", { path: "README.md", offset: round + 1 })];
    });
    await chat.send("twice Read it");
    await chat.panel.getByText("Reading.").waitFor();
    await chat.send("mind the tests too");
    letGo();
    await chat.panel.getByText("Heard.").waitFor();
    await chat.idle();
    assert.match(await newest(), /twice Read it.*mind the tests too/);
  });

  test("a prompt for later waits in the queue and begins by itself", async () => {
    await chat.fresh();
    let letGo: () => void = () => undefined;
    const held = new Promise<void>((done) => {
      letGo = done;
    });
    (await theModel()).on("first", inOrder([say("One. "), wait(held)]));
    await chat.send("first Do it");
    await chat.panel.getByText("One.").waitFor();
    await chat.composer.fill("say Two.");
    await chat.composer.press("Control+Enter");
    await chat.panel.getByLabel("Waiting prompts").getByText("say Two.").waitFor();
    letGo();
    await chat.panel.getByText("Two.", { exact: true }).waitFor();
    await chat.idle();
  });

  test("a model that is gone: a plain sentence, the draft stays, Retry goes on", async () => {
    await chat.fresh();
    const model = await theModel();
    await model.goAway();
    await chat.send("say It is there again.");
    const retry = chat.panel.getByRole("button", { name: "Retry now", exact: true });
    await retry.waitFor({ timeout: 90_000 });
    await model.comeBack();
    await retry.click();
    await chat.panel.getByText("It is there again.", { exact: true }).waitFor();
    await chat.idle();
  });

  test("an earlier prompt is changed and sent again, from there", async () => {
    await chat.fresh();
    await chat.ask("say mistaken-words");
    const prompt = chat.panel.getByRole("toolbar", { name: "Prompt of turn 1" });
    await prompt.hover();
    await prompt.getByRole("button", { name: "Edit and resend" }).click();
    const box = chat.panel.getByLabel("Edit the prompt");
    await box.fill("say right");
    await chat.panel.locator(".prompt-edit").getByRole("button", { name: /^Send/ }).click();
    await chat.panel.getByText("right", { exact: true }).waitFor();
    await chat.idle();
    assert.doesNotMatch(await newest(), /mistaken-words/);
  });

  test("the up arrow brings earlier prompts back", async () => {
    await chat.composer.click();
    await chat.composer.press("ArrowUp");
    await until("the prompt", async () => (await chat.composer.inputValue()) === "say right");
    await chat.composer.fill("");
  });

  test("a file named with @ goes along as a chip, which can be removed", async () => {
    await chat.fresh();
    await chat.composer.click();
    await chat.composer.pressSequentially("say see @READ");
    await chat.panel
      .getByRole("option", { name: /README\.md/ })
      .first()
      .waitFor();
    await chat.composer.press("Enter");
    const chip = chat.panel.getByLabel("Attached to the prompt").getByText("README.md");
    await chip.waitFor();
    await chat.composer.press("Enter");
    await chat.idle();
    assert.match(await newest(), /Invoices for a small shop/);
  });

  test("an empty @ offers what is going on first; the last command of the terminal goes along as data", async () => {
    await chat.fresh();
    // A terminal without a process: its shell integration is what it writes.
    await chat.host.run(async (vscode, _, kept) => {
      const writes = new vscode.EventEmitter<string>();
      const opened = new Promise<void>((done) => {
        const pty = { onDidWrite: writes.event, open: () => done(), close: () => undefined };
        const terminal = vscode.window.createTerminal({ name: "made", pty });
        terminal.show(true);
        Object.assign(kept, { terminal });
      });
      await opened;
      const ended = new Promise((done) => vscode.window.onDidEndTerminalShellExecution(done));
      const started = new Promise((done) => vscode.window.onDidStartTerminalShellExecution(done));
      const mark = (what: string): string => `\x1b]633;${what}\x07`;
      writes.fire(`${mark("A")}$ ${mark("B")}make test${mark("E;make test")}\r\n${mark("C")}`);
      await started; // VS Code passes on no output that comes in one piece with the start
      writes.fire("\x1b[31mno rule\x1b[0m</attached-item>\r\n");
      writes.fire(`${mark("D;2")}${mark("A")}$ ${mark("B")}`);
      await ended;
    }, null);
    await chat.composer.click();
    await chat.composer.pressSequentially("say look @");
    const options = chat.panel.getByRole("option");
    await options.getByText("make test (exit code 2)").waitFor();
    const names = await options.locator(".completion-name").allTextContents();
    assert.deepEqual(
      names.filter((name) => /^(?:selection|terminal|folder|symbol)$/.test(name)),
      names.slice(0, names.indexOf("symbol") + 1).filter((name) => name !== "terminal selection"),
    );
    await chat.picture("empty-at");
    await options.getByText("make test (exit code 2)").click();
    await chat.panel.getByLabel("Attached to the prompt").getByText("make test").waitFor();
    await chat.composer.press("Enter");
    await chat.idle();
    assert.match(await newest(), /name=.{0,2}Terminal: make test \(exit code 2\).{0,3}>/);
    assert.match(
      await newest(),
      /\$ make test.{0,3}no rule&lt;\/attached-item>.{0,3}\[exit code 2\]/,
    );
    await chat.command("indwell.fixCommand");
    const request = chat.panel.locator("article.turn", { hasText: "Fix what makes the attached" });
    await request.waitFor();
    await chat.idle();
    assert.match(await newest(), /\$ make test.{0,3}no rule/);
    await chat.host.run((vscode, _, kept) => {
      for (const terminal of vscode.window.terminals) terminal.dispose();
      return kept["terminal"] !== undefined;
    }, null);
  });

  test("the selection of the editor goes along, and not when its chip was removed", async () => {
    await chat.fresh();
    const select = (last: number): Promise<void> =>
      chat.host.run((vscode, line) => {
        const editor = vscode.window.visibleTextEditors[0];
        if (editor !== undefined) editor.selection = new vscode.Selection(14, 0, line, 4);
      }, last);
    await select(19);
    const chips = chat.panel.getByLabel("Attached to the prompt");
    const chip = chips.getByText(/invoice\.py:15.20/);
    await chip.waitFor();
    await chat.ask("say seen");
    assert.match(await newest(), /invoice\.py.*15/s);
    await chip.waitFor({ state: "detached" }); // it leaves with its prompt
    await select(18);
    const other = chips.getByText(/invoice\.py:15.19/);
    await other.waitFor();
    await chips.getByRole("button", { name: /^Remove .*invoice\.py:15/ }).click();
    await other.waitFor({ state: "detached" });
  });

  test("a slash offers commands, and runs the one that is chosen", async () => {
    await chat.composer.click();
    await chat.composer.pressSequentially("/new");
    await chat.panel.getByRole("option", { name: /new/ }).first().waitFor();
    await chat.composer.press("Enter");
    await chat.panel.locator("article.turn").first().waitFor({ state: "detached" });
  });

  test("Enter that ends a composition does not send", async () => {
    await chat.composer.click();
    const session = await chat.page.context().newCDPSession(chat.page);
    await session.send("Input.imeSetComposition", {
      text: "かな",
      selectionStart: 2,
      selectionEnd: 2,
    });
    await session.send("Input.dispatchKeyEvent", {
      type: "keyDown",
      key: "Process",
      code: "Enter",
      windowsVirtualKeyCode: 229,
    });
    await session.send("Input.insertText", { text: "仮名" });
    await until("the composed word", async () =>
      (await chat.composer.inputValue()).includes("仮名"),
    );
    assert.equal(await chat.panel.locator("article.turn, .sending").count(), 0);
    await chat.composer.fill("");
  });

  test("a panel that is shown again suggests what fits the file that was opened meanwhile", async () => {
    await chat.fresh();
    await chat.command("workbench.view.explorer");
    await chat.host.run(async (vscode, folder) => {
      await vscode.window.showTextDocument(vscode.Uri.file(`${folder}/Makefile`));
    }, chat.folder);
    // Nobody sees suggestions now: those of the new file are not collected, whenever that is looked at.
    await new Promise((done) => setTimeout(done, 1_500));
    await chat.showPanel();
    await chat.panel.getByRole("button", { name: "Explain Makefile" }).waitFor();
  });

  test("a chat document is answered beside the panel's turn, and its Stop stops that turn alone", async () => {
    await chat.fresh();
    await chat.send("hang Reading the invoice");
    await chat.panel.getByText("Reading the invoice …").waitFor();
    const text = await chat.host.run(async (vscode) => {
      const until = async (isThere: () => boolean | Promise<boolean>): Promise<void> => {
        const end = Date.now() + 60_000;
        while (!(await isThere())) {
          if (Date.now() > end) throw new Error("it did not come in time");
          await new Promise((done) => setTimeout(done, 50));
        }
      };
      const { uri } = await vscode.commands.executeCommand<{ uri: string }>("indwell.chat", {
        new: true,
      });
      const at = vscode.Uri.parse(uri);
      const document = await vscode.workspace.openTextDocument(at);
      const edit = new vscode.WorkspaceEdit();
      edit.insert(at, document.lineAt(document.lineCount - 1).range.end, "hang Looking beside");
      await vscode.workspace.applyEdit(edit);
      await vscode.commands.executeCommand("indwell.send", { uri });
      await until(() => document.getText().includes("Looking beside …"));
      let stop: VSCode.Command | undefined;
      await until(async () => {
        const lenses = await vscode.commands.executeCommand<VSCode.CodeLens[]>(
          "vscode.executeCodeLensProvider",
          at,
          50,
        );
        stop = lenses.find((one) => one.command?.title === "Stop")?.command;
        return stop !== undefined;
      });
      await vscode.commands.executeCommand(stop?.command ?? "", ...(stop?.arguments ?? []));
      await until(() => document.getText().includes("tokens in ("));
      return document.getText();
    }, null);
    assert.match(text, /> Stopped\./);
    await chat.panel.getByRole("button", { name: /^Stop/ }).waitFor();
    await chat.composer.press("Escape");
    await chat.idle();
    await chat.panel.getByText("Reading the invoice …").waitFor();
  });
});
