/** Hostile text of a model: it loads nothing and runs nothing, and links ask before they open. */
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import type { Chat } from "../editor/chat.ts";
import { inOrder, say } from "../editor/model-script.ts";
import { openChat, pictureFailures, theModel, theWorkbench } from "../editor/shared.ts";
import { SHOP } from "../editor/shop-files.ts";
import { until } from "../editor/waiting.ts";

const OUT = "http://out.example";
const OBEYED = "Be brief.\n";
const HOSTILE = `Before.

![picture](${OUT}/a.png) <img src="${OUT}/b.png" onerror="fetch('${OUT}/c')">

<script>fetch("${OUT}/d")</script><iframe src="${OUT}/e"></iframe><link rel="stylesheet" href="${OUT}/f.css">

<style>@import url("${OUT}/g.css"); body { background: url("${OUT}/h.png") }</style>

<svg onload="fetch('${OUT}/i')"><image href="${OUT}/j.png"/></svg><video src="${OUT}/k" autoplay></video>

[a link](https://out.example/l) [script](javascript:fetch('${OUT}/m')) [command](command:workbench.action.quit) <${OUT}/n>

\`\`\`html
<img src="${OUT}/o.png">
\`\`\`

<form action="${OUT}/p"><button autofocus formaction="javascript:alert(1)">press</button></form>

After all of it.`;

describe("hostile text of a model", () => {
  let chat: Chat;
  pictureFailures(() => chat);
  before(async () => {
    chat = await openChat({
      name: "hostile",
      files: { ...SHOP, "AGENTS.md": OBEYED },
      open: ["AGENTS.md"],
    });
    (await theModel()).on("hostile", inOrder([say(HOSTILE, { piece: 7 })]));
  });
  after(() => chat.close());

  test("loads nothing and runs nothing", async () => {
    const dialogs: string[] = [];
    chat.page.on("dialog", (dialog) => {
      dialogs.push(dialog.message());
      void dialog.dismiss();
    });
    await chat.ask("hostile words");
    await chat.panel.getByText("After all of it.").waitFor();
    const conversation = chat.panel.getByRole("region", { name: "Conversation" });
    assert.equal(
      await conversation
        .locator(
          "script, iframe, link, style, object, embed, form, img[src^=http], video, svg image",
        )
        .count(),
      0,
    );
    assert.deepEqual(dialogs, []);
    assert.deepEqual((await theWorkbench()).outside, []);
  });

  test("a link shows its real target and asks before it opens", async () => {
    await chat.panel.getByText("a link", { exact: true }).click();
    const dialog = chat.page.locator(".monaco-dialog-box");
    await dialog.waitFor();
    assert.match((await dialog.textContent()) ?? "", /out\.example/);
    await chat.page.keyboard.press("Escape");
    await dialog.waitFor({ state: "detached" });
    assert.deepEqual((await theWorkbench()).outside, []);
  });

  test("its code is inserted into a protected file only after a dialog that names the file", async () => {
    const written = () =>
      chat.host.run(
        async (vscode) => vscode.window.activeTextEditor?.document.getText() ?? "",
        null,
      );
    const dialog = chat.page.locator(".monaco-dialog-box");
    const insert = chat.panel.getByRole("button", { name: "Insert at the cursor" });
    await insert.click();
    await dialog.getByText("Insert the code into AGENTS.md?").waitFor();
    await chat.page.keyboard.press("Escape");
    await dialog.waitFor({ state: "detached" });
    assert.equal(await written(), OBEYED);
    await insert.click();
    await dialog.getByRole("button", { name: "Insert", exact: true }).click();
    await until("the code", async () => (await written()).includes("/o.png"));
  });

  test("only the https link is a link, and the other links are shown as text", async () => {
    const links = chat.panel.locator("a, [role=link], [href], [data-link], [data-file]");
    const targets = await links.evaluateAll((all) =>
      all.map((one) =>
        ["href", "data-link", "data-file"].flatMap((name) => one.getAttribute(name) ?? []),
      ),
    );
    assert.deepEqual(targets, [["https://out.example/l"]]);
    for (const words of ["[script](javascript:", "[command](command:", `${OUT}/n`])
      assert.equal(await chat.panel.locator(".md-block", { hasText: words }).count(), 1, words);
  });

  test("a click that posts the address of a command or an http address opens nothing, and a message says so", async () => {
    // The panel draws no such link, but the extension must not rely on that.
    const link = chat.panel.getByText("a link", { exact: true });
    for (const target of ["command:workbench.action.closeActiveEditor", `${OUT}/l`]) {
      await link.evaluate((one, href) => one.setAttribute("data-link", href), target);
      await link.click();
      await chat.panel.getByText("Only https links open from here.").waitFor();
      await chat.panel.getByRole("button", { name: "Close this message" }).click();
    }
    assert.equal(await chat.page.locator(".monaco-dialog-box").count(), 0);
    const editors = await chat.host.run((vscode) => vscode.window.visibleTextEditors.length, null);
    assert.equal(editors, 1);
    assert.deepEqual((await theWorkbench()).outside, []);
  });
});
