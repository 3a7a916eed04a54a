/** Plans, sub-agents, background commands, the model's questions, skills and memory, with the real server. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import type { Chat } from "../editor/chat.ts";
import { call, inOrder, say } from "../editor/model-script.ts";
import { keepPictures, openChat, theModel } from "../editor/shared.ts";
import { SHOP } from "../editor/shop-files.ts";
import { until } from "../editor/waiting.ts";

describe("work that is planned, shared out, and runs beside the conversation", () => {
  let chat: Chat;
  keepPictures(() => chat);
  before(async () => {
    chat = await openChat({ name: "work", files: SHOP, open: ["shop/invoice.py"] });
    // The user's words of an approval are "The plan is approved: carry it out."
    (await theModel()).on("carry", inOrder([call("write_file", DONE)], [say("Carried out.")]));
    (await theModel()).on(
      "name",
      inOrder(
        [
          call("edit_file", {
            path: "shop/invoice.py",
            edits: [{ old: "def total(", new: "def sum_of(" }],
          }),
        ],
        [say("It has the new name.")],
      ),
    );
    await mode("review");
  });
  after(() => chat.close());

  const DONE = { path: "made.txt", content: "as planned\n" };
  const newest = async (): Promise<string> => JSON.stringify((await theModel()).requests.at(-1));
  const mode = (name: string): Promise<void> =>
    chat.panel.locator(".mode-picker").getByText(name).waitFor();
  const plan = () => chat.panel.getByRole("group", { name: "Plan" });
  const planned = async (): Promise<void> => {
    await chat.fresh();
    await chat.slash("mode plan");
    await mode("plan");
    await chat.ask("plan Move the tax rules");
    await plan().waitFor();
  };

  test("a plan is edited in its document, approved there, and carried out in the mode of before", async () => {
    await planned();
    await plan().getByRole("button", { name: "Edit" }).click();
    await until("the plan's document", () =>
      chat.host.run(async (vscode) => {
        const editor = vscode.window.activeTextEditor;
        if (!editor?.document.getText().includes("Move the tax rules")) return false;
        return editor.edit((edit) => edit.insert(new vscode.Position(0, 0), "Mind the cents.\n\n"));
      }, null),
    );
    await chat.command("indwell.approvePlan");
    await chat.panel.getByText("Carried out.", { exact: true }).waitFor();
    await chat.idle();
    await mode("review");
    assert.match(await newest(), /Mind the cents\./);
    assert.equal(readFileSync(join(chat.folder, "made.txt"), "utf8"), "as planned\n");
    assert.equal(await plan().count(), 0);
  });

  test("a plan is rejected in words, which are the next prompt, and still nothing may change", async () => {
    await planned();
    await plan().getByRole("button", { name: "Reject…" }).click();
    await plan().getByLabel("What should be different").fill("say smaller steps then");
    await plan().getByRole("button", { name: "Reject", exact: true }).click();
    await chat.panel.getByText("smaller steps then", { exact: true }).waitFor();
    await chat.idle();
    await mode("plan");
    assert.equal(await plan().count(), 0);
    await chat.slash("mode review");
    await mode("review");
  });

  test("sub-agents work side by side in cards of their own, and stop with the turn", async () => {
    await chat.fresh();
    await chat.send("helpers Look at the totals");
    await chat.panel.locator(".agent-now").getByText("Run sleep 60").waitFor();
    const explore = chat.panel.locator(".tool", { hasText: "explore: search total" }).first();
    await explore.getByText(/tokens$/).waitFor();
    await explore.locator(".tool-line").first().click();
    await explore.locator(".tool", { hasText: "Search total" }).waitFor();
    await chat.composer.press("Escape");
    await chat.idle();
    assert.equal(await chat.panel.locator(".agent-now").count(), 0);
  });

  test("a command runs on beside the conversation, shows its output, and is stopped", async () => {
    await chat.fresh();
    await chat.ask("serve it");
    await chat.panel.getByRole("button", { name: /^1 command running/ }).click();
    await chat.panel.locator(".command-toggle").click();
    await chat.panel.locator(".command").getByText("the shop is open", { exact: true }).waitFor();
    await chat.panel.getByRole("button", { name: /^Stop echo/ }).click();
    await chat.panel.getByText(/^stopped after/).waitFor();
    await chat.panel.getByRole("button", { name: /^1 command ended/ }).waitFor();
  });

  test("the model's question takes one of its options, and the turn goes on with it", async () => {
    await chat.fresh();
    await chat.send("crossroads ahead");
    const card = chat.panel.locator(".question.of-model");
    await card.and(chat.panel.locator("[data-armed=true]")).waitFor();
    await card.getByRole("button", { name: "per line" }).click();
    await chat.panel.getByText("Understood.", { exact: true }).waitFor();
    await chat.idle();
    assert.match(await newest(), /per line/);
  });

  test("skills stand behind a slash, and go along with the words", async () => {
    await chat.fresh();
    await chat.composer.click();
    await chat.composer.pressSequentially("/write");
    await chat.panel.getByRole("option", { name: /write-tests/ }).waitFor();
    await chat.composer.press("Enter");
    await chat.composer.pressSequentially("say for the totals");
    await chat.ask(await chat.composer.inputValue());
    assert.match(await newest(), /<skill name=.{0,4}write-tests/);
  });

  test("tasks are in Ctrl+., and a field at the selection takes words whose edit waits for a verdict", async () => {
    const select = (): Promise<void> =>
      chat.host.run(async (vscode, folder) => {
        const uri = vscode.Uri.file(`${folder}/shop/invoice.py`);
        const editor = await vscode.window.showTextDocument(uri);
        editor.selection = new vscode.Selection(14, 0, 19, 34);
      }, chat.folder);
    await select();
    await chat.palette("Quick Fix");
    const menu = chat.page.locator(".action-widget .monaco-list-row");
    await menu.getByText("Explain this (Indwell)").waitFor();
    for (const task of [
      "Document this",
      "Write tests for this",
      "Refactor this…",
      "Ask about this…",
    ])
      assert.equal(await menu.getByText(`${task} (Indwell)`).count(), 1, task);
    await chat.page.keyboard.press("Escape");
    const field = chat.page.locator(".review-widget");
    const open = async (): Promise<void> => {
      await select();
      await chat.page.keyboard.press("Control+i");
      await field.locator(".monaco-editor.focused").waitFor();
    };
    await open();
    await chat.page.keyboard.type("name it sum_of");
    await chat.picture("inline-field");
    await chat.page.keyboard.press("Enter");
    await field.waitFor({ state: "detached" });
    assert.match(await newest(), /Edit shop\/invoice\.py, lines 15-20: name it sum_of/);
    const shown = await chat.host.run(
      (vscode) => vscode.window.activeTextEditor?.document.getText(),
      null,
    );
    assert.match(shown ?? "", /def sum_of\(/);
    await chat.panel.getByLabel("Pending changes").waitFor();
    const waiting = chat.panel.getByRole("button", { name: /^Accept the change/ });
    await waiting.first().waitFor();
    // The file has the focus again, and its keys give the verdict.
    await until("the verdict", async () => {
      await chat.page.keyboard.press("Control+k");
      await chat.page.keyboard.press("y");
      return (await waiting.count()) === 0;
    });
    await open();
    await chat.page.keyboard.press("Escape");
    await field.waitFor({ state: "detached" });
  });

  test("in mode auto the editor shows a rewrite first, and a place left out there stays", async () => {
    const text = (): Promise<string> =>
      chat.host.run(async (vscode, folder) => {
        const uri = vscode.Uri.file(`${folder}/shop/invoice.py`);
        return (await vscode.window.showTextDocument(uri)).document.getText();
      }, chat.folder);
    const before = await text();
    const content = before.replaceAll(/^(?!@dataclass).*$/gm, (line) => line.toUpperCase());
    (await theModel()).on(
      "overhaul",
      inOrder(
        [call("read_file", { path: "shop/invoice.py" })],
        [call("write_file", { path: "shop/invoice.py", content })],
        [say("Overhauled.")],
      ),
    );
    (await theModel()).on(
      "refit",
      inOrder(
        [
          call("write_file", {
            path: "shop/invoice.py",
            content: before.replaceAll(/.+/g, "# gone"),
          }),
        ],
        [say("Left alone.")],
      ),
    );
    await chat.slash("mode auto");
    await mode("auto");
    await chat.send("overhaul the invoice");
    const preview = chat.page.locator(".bulk-edit-panel");
    await preview.getByText("invoice.py").waitFor();
    await chat.command("refactorPreview.groupByType");
    await preview.getByText("Change more than half of a file").waitFor();
    // Nothing is ticked at first. The box of the file ticks all its places.
    const boxes = preview.locator(".edit-checkbox");
    await boxes.first().click();
    await boxes.nth(1).click();
    await preview.getByRole("button", { name: "Apply" }).click();
    await chat.panel.getByText("Overhauled.", { exact: true }).waitFor();
    await chat.idle();
    const after = await text();
    assert.equal(after.split("\n")[0], before.split("\n")[0], "the place was left out");
    assert.match(after, /FROM DATACLASSES/);
    assert.match(await newest(), /left out 1 of \d+ places/);

    await chat.send("refit the invoice");
    await preview.getByRole("button", { name: "Discard" }).click();
    await chat.panel.getByText("Left alone.", { exact: true }).waitFor();
    await chat.idle();
    assert.equal(await text(), after);
    assert.match(await newest(), /who did not confirm the change/);
    await chat.slash("mode review");
    await mode("review");
  });

  test("the memory is opened as a document", async () => {
    await chat.command("indwell.memory");
    await until("the memory", () =>
      chat.host.run(
        (vscode) => vscode.window.activeTextEditor?.document.fileName.includes("memory") === true,
        null,
      ),
    );
  });
});
