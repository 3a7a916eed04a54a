/** Plans, sub-agents, background commands, the model's questions, skills and memory, with the real server. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import type { Chat } from "../editor/chat.ts";
import { call, inOrder, say } from "../editor/model-script.ts";
import { openChat, pictureFailures, theModel } from "../editor/shared.ts";
import { SHOP } from "../editor/shop-files.ts";
import { until } from "../editor/waiting.ts";

describe("plans, sub-agents and background work", () => {
  let chat: Chat;
  pictureFailures(() => chat);
  before(async () => {
    chat = await openChat({ name: "work", files: SHOP, open: ["shop/invoice.py"] });
    // An approval sends the prompt "The plan is approved: carry it out."
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
    await waitForMode("review");
  });
  after(() => chat.close());

  const DONE = { path: "made.txt", content: "as planned\n" };
  const newestRequest = async (): Promise<string> =>
    JSON.stringify((await theModel()).requests.at(-1));
  const waitForMode = (name: string): Promise<void> =>
    chat.panel.locator(".mode-picker").getByText(name).waitFor();
  const plan = () => chat.panel.getByRole("group", { name: "Plan" });
  const proposePlan = async (): Promise<void> => {
    await chat.newSession();
    await chat.slash("mode plan");
    await waitForMode("plan");
    await chat.ask("plan Move the tax rules");
    await plan().waitFor();
  };

  test("a plan can be edited and approved in its document, and is carried out in the previous mode", async () => {
    await proposePlan();
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
    await waitForMode("review");
    assert.match(await newestRequest(), /Mind the cents\./);
    assert.equal(readFileSync(join(chat.folder, "made.txt"), "utf8"), "as planned\n");
    assert.equal(await plan().count(), 0);
  });

  test("the reason for rejecting a plan is the next prompt, and the mode stays plan", async () => {
    await proposePlan();
    await plan().getByRole("button", { name: "Reject…" }).click();
    await plan().getByLabel("What should be different").fill("say smaller steps then");
    await plan().getByRole("button", { name: "Reject", exact: true }).click();
    await chat.panel.getByText("smaller steps then", { exact: true }).waitFor();
    await chat.idle();
    await waitForMode("plan");
    assert.equal(await plan().count(), 0);
    await chat.slash("mode review");
    await waitForMode("review");
  });

  test("sub-agents work in parallel in their own cards, and stop with the turn", async () => {
    await chat.newSession();
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

  test("a background command shows its output and can be stopped", async () => {
    await chat.newSession();
    await chat.ask("serve it");
    await chat.panel.getByRole("button", { name: /^1 command running/ }).click();
    await chat.panel.locator(".command-toggle").click();
    await chat.panel.locator(".command").getByText("the shop is open", { exact: true }).waitFor();
    await chat.panel.getByRole("button", { name: /^Stop echo/ }).click();
    await chat.panel.getByText(/^stopped after/).waitFor();
    await chat.panel.getByRole("button", { name: /^1 command ended/ }).waitFor();
  });

  test("the user answers a question of the model with an option, and the turn continues", async () => {
    await chat.newSession();
    await chat.send("crossroads ahead");
    const card = chat.panel.locator(".question.of-model");
    await card.and(chat.panel.locator("[data-armed=true]")).waitFor();
    await card.getByRole("button", { name: "per line" }).click();
    await chat.panel.getByText("Understood.", { exact: true }).waitFor();
    await chat.idle();
    assert.match(await newestRequest(), /per line/);
  });

  test("a slash completes a skill, which is sent with the prompt", async () => {
    await chat.newSession();
    await chat.composer.click();
    await chat.composer.pressSequentially("/write");
    await chat.panel.getByRole("option", { name: /write-tests/ }).waitFor();
    await chat.composer.press("Enter");
    await chat.composer.pressSequentially("say for the totals");
    await chat.ask(await chat.composer.inputValue());
    assert.match(await newestRequest(), /<skill name=.{0,4}write-tests/);
  });

  test("Quick Fix offers tasks, and the inline field takes a prompt whose edit is a pending change", async () => {
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
    assert.match(await newestRequest(), /Edit shop\/invoice\.py, lines 15-20: name it sum_of/);
    const shown = await chat.host.run(
      (vscode) => vscode.window.activeTextEditor?.document.getText(),
      null,
    );
    assert.match(shown ?? "", /def sum_of\(/);
    await chat.panel.getByLabel("Pending changes").waitFor();
    const waiting = chat.panel.getByRole("button", { name: /^Accept the change/ });
    await waiting.first().waitFor();
    // The editor has the focus again, so its keys accept the change.
    await until("the verdict", async () => {
      await chat.page.keyboard.press("Control+k");
      await chat.page.keyboard.press("y");
      return (await waiting.count()) === 0;
    });
    await open();
    await chat.page.keyboard.press("Escape");
    await field.waitFor({ state: "detached" });
  });

  test("in mode auto VS Code previews a rewrite, and a place that is unchecked there stays unchanged", async () => {
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
    await waitForMode("auto");
    await chat.send("overhaul the invoice");
    const preview = chat.page.locator(".bulk-edit-panel");
    await preview.getByText("invoice.py").waitFor();
    await chat.command("refactorPreview.groupByType");
    await preview.getByText("Change more than half of a file").waitFor();
    // Nothing is checked at first. The file's check box checks all its places.
    const boxes = preview.locator(".edit-checkbox");
    await boxes.first().click();
    await boxes.nth(1).click();
    await preview.getByRole("button", { name: "Apply" }).click();
    await chat.panel.getByText("Overhauled.", { exact: true }).waitFor();
    await chat.idle();
    const after = await text();
    assert.equal(after.split("\n")[0], before.split("\n")[0], "the unchecked place is unchanged");
    assert.match(after, /FROM DATACLASSES/);
    assert.match(await newestRequest(), /left out 1 of \d+ places/);

    await chat.send("refit the invoice");
    await preview.getByRole("button", { name: "Discard" }).click();
    await chat.panel.getByText("Left alone.", { exact: true }).waitFor();
    await chat.idle();
    assert.equal(await text(), after);
    assert.match(await newestRequest(), /who did not confirm the change/);
    await chat.slash("mode review");
    await waitForMode("review");
  });

  test("the command 'memory' opens the memory as a document", async () => {
    await chat.command("indwell.memory");
    await until("the memory", () =>
      chat.host.run(
        (vscode) => vscode.window.activeTextEditor?.document.fileName.includes("memory") === true,
        null,
      ),
    );
  });
});
