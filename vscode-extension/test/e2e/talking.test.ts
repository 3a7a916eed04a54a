/** Prompts: sending, stopping, steering, the queue, failures, and attachments. */
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import type * as VSCode from "vscode";
import type { Chat } from "../editor/chat.ts";
import { call, inOrder, say, wait } from "../editor/model-script.ts";
import { openChat, pictureFailures, theModel } from "../editor/shared.ts";
import { SHOP } from "../editor/shop-files.ts";
import { until } from "../editor/waiting.ts";

describe("talking with the model", () => {
  let chat: Chat;
  pictureFailures(() => chat);
  before(async () => {
    chat = await openChat({ name: "talking", files: SHOP, open: ["shop/invoice.py"] });
  });
  after(() => chat.close());

  /** The newest request to the model, as JSON. */
  const newestRequest = async (): Promise<string> =>
    JSON.stringify((await theModel()).requests.at(-1));

  test("Escape stops the turn and keeps the streamed text", async () => {
    await chat.send("hang Half an answer");
    await chat.panel.getByText("Half an answer …").waitFor();
    await chat.composer.press("Escape");
    await chat.idle();
    await chat.panel.getByText("Half an answer …").waitFor();
  });

  test("a prompt that is sent while a turn runs steers it and reaches the model", async () => {
    await chat.newSession();
    let release: () => void = () => undefined;
    const released = new Promise<void>((done) => {
      release = done;
    });
    const model = await theModel();
    // The turn continues until the second prompt arrives, because a busy machine may be slow.
    const hasSteering = (): boolean =>
      /mind the tests too/.test(JSON.stringify(model.requests.at(-1)));
    model.on("twice", (round) => {
      if (round === 0) {
        return [say("Reading. "), wait(released), call("read_file", { path: "README.md" })];
      }
      return hasSteering()
        ? [say("Heard.")]
        : [call("read_file", { path: "README.md", offset: round + 1 })];
    });
    await chat.send("twice Read it");
    await chat.panel.getByText("Reading.").waitFor();
    await chat.send("mind the tests too");
    release();
    await chat.panel.getByText("Heard.").waitFor();
    await chat.idle();
    assert.match(await newestRequest(), /twice Read it.*mind the tests too/);
  });

  test("a queued prompt is shown as waiting and starts when the turn ends", async () => {
    await chat.newSession();
    let release: () => void = () => undefined;
    const released = new Promise<void>((done) => {
      release = done;
    });
    (await theModel()).on("first", inOrder([say("One. "), wait(released)]));
    await chat.send("first Do it");
    await chat.panel.getByText("One.").waitFor();
    await chat.composer.fill("say Two.");
    await chat.composer.press("Control+Enter");
    await chat.panel.getByLabel("Waiting prompts").getByText("say Two.").waitFor();
    release();
    await chat.panel.getByText("Two.", { exact: true }).waitFor();
    await chat.idle();
  });

  test("a plain sentence says that the model is unreachable, Retry continues the turn, and a draft stays", async () => {
    await chat.newSession();
    const model = await theModel();
    await model.goAway();
    await chat.send("say It is there again.");
    await chat.composer.fill("a draft");
    const retry = chat.panel.getByRole("button", { name: "Retry now", exact: true });
    await retry.waitFor({ timeout: 90_000 });
    const ending = chat.panel.locator(".ending-words p").last();
    assert.equal(
      await ending.textContent(),
      `Nothing answers at ${model.url}; start the endpoint or set OPENAI_BASE_URL.`,
    );
    await model.comeBack();
    await retry.click();
    await chat.panel.getByText("It is there again.", { exact: true }).waitFor();
    await chat.idle();
    assert.equal(await chat.composer.inputValue(), "a draft");
    await chat.composer.fill("");
  });

  test("an earlier prompt can be edited and resent from its place", async () => {
    await chat.newSession();
    await chat.ask("say mistaken-words");
    const prompt = chat.panel.getByRole("toolbar", { name: "Prompt of turn 1" });
    await prompt.hover();
    await prompt.getByRole("button", { name: "Edit and resend" }).click();
    const box = chat.panel.getByLabel("Edit the prompt");
    await box.fill("say right");
    await chat.panel.locator(".prompt-edit").getByRole("button", { name: /^Send/ }).click();
    await chat.panel.getByText("right", { exact: true }).waitFor();
    await chat.idle();
    assert.doesNotMatch(await newestRequest(), /mistaken-words/);
  });

  test("the up arrow recalls the last prompt", async () => {
    await chat.composer.click();
    await chat.composer.press("ArrowUp");
    await until("the prompt", async () => (await chat.composer.inputValue()) === "say right");
    await chat.composer.fill("");
  });

  test("a file mentioned with @ becomes a chip and is sent with the prompt", async () => {
    await chat.newSession();
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
    assert.match(await newestRequest(), /Invoices for a small shop/);
  });

  test("an empty @ offers the current context first, and the terminal's last command can be attached as data", async () => {
    await chat.newSession();
    // A terminal without a process, which writes the sequences of shell integration.
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
      await started; // VS Code drops output that comes in one piece with the start
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
    assert.match(await newestRequest(), /name=.{0,2}Terminal: make test \(exit code 2\).{0,3}>/);
    assert.match(
      await newestRequest(),
      /\$ make test.{0,3}no rule&lt;\/attached-item>.{0,3}\[exit code 2\]/,
    );
    await chat.command("indwell.fixCommand");
    const request = chat.panel.locator("article.turn", { hasText: "Fix what makes the attached" });
    await request.waitFor();
    await chat.idle();
    assert.match(await newestRequest(), /\$ make test.{0,3}no rule/);
    await chat.host.run((vscode, _, kept) => {
      for (const terminal of vscode.window.terminals) terminal.dispose();
      return kept["terminal"] !== undefined;
    }, null);
  });

  test("the editor's selection is sent with a prompt, but not if its chip was removed", async () => {
    await chat.newSession();
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
    assert.match(await newestRequest(), /invoice\.py.*15/s);
    await chip.waitFor({ state: "detached" }); // it is sent with one prompt only
    await select(18);
    const other = chips.getByText(/invoice\.py:15.19/);
    await other.waitFor();
    await chips.getByRole("button", { name: /^Remove .*invoice\.py:15/ }).click();
    await other.waitFor({ state: "detached" });
    await chat.ask("say unseen");
    const asked = (await theModel()).requests.at(-1)?.messages.at(-1);
    assert.match(JSON.stringify(asked), /say unseen/);
    assert.doesNotMatch(JSON.stringify(asked), /ide_selection|invoice/);
    await other.waitFor(); // it was removed from one prompt only
  });

  test("a slash offers commands, and Enter runs the chosen command", async () => {
    await chat.composer.click();
    await chat.composer.pressSequentially("/new");
    await chat.panel.getByRole("option", { name: /new/ }).first().waitFor();
    await chat.composer.press("Enter");
    await chat.panel.locator("article.turn").first().waitFor({ state: "detached" });
  });

  test("Enter that confirms a composition does not send", async () => {
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

  test("a panel that is shown again has suggestions for the file that was opened meanwhile", async () => {
    await chat.newSession();
    await chat.command("workbench.view.explorer");
    await chat.host.run(async (vscode, folder) => {
      await vscode.window.showTextDocument(vscode.Uri.file(`${folder}/Makefile`));
    }, chat.folder);
    // While the panel is hidden, it must not collect suggestions for the new file.
    await new Promise((done) => setTimeout(done, 1_500));
    await chat.showPanel();
    await chat.panel.getByRole("button", { name: "Explain Makefile" }).waitFor();
  });

  test("a chat document runs a turn beside the panel's turn, and its Stop stops only its own turn", async () => {
    await chat.newSession();
    await chat.send("hang Reading the invoice");
    await chat.panel.getByText("Reading the invoice …").waitFor();
    const text = await chat.host.run(async (vscode) => {
      const until = async (isThere: () => boolean | Promise<boolean>): Promise<void> => {
        const end = Date.now() + 60_000;
        while (!(await isThere())) {
          if (Date.now() > end) throw new Error("the condition did not hold in time");
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
