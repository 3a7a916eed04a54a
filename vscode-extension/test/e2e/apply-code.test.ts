/** "Apply as an edit": code of an answer is put in its place in the file, and the rest of the file stays. */
import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import type { Chat } from "../editor/chat.ts";
import { inOrder, say } from "../editor/model-script.ts";
import { openChat, pictureFailures, theModel } from "../editor/shared.ts";
import { INVOICE, SHOP } from "../editor/shop-files.ts";
import { until } from "../editor/waiting.ts";

const OTHERS = Array.from(
  { length: 16 },
  (_, n) => `\n\ndef rate_${n}() -> float:\n    return ${n} / 100\n`,
).join("");
/** A long file: an earlier version replaced a file of 84 lines by five lines of code. */
const LONG = INVOICE + OTHERS;
const OLD = "    return 3 / 100\n";
const NEW = "    if holiday():\n        return 0.0\n    return 3 / 100\n";
const DIFF = `@@ -30,2 +30,4 @@\n def rate_3() -> float:\n+    if holiday():\n+        return 0.0\n ${OLD}`;
const FRESH = "def holiday() -> bool:\n    return False\n";
const SNIPPET = `def rate_3() -> float:\n${NEW}`;

describe("Apply as an edit", () => {
  let chat: Chat;
  pictureFailures(() => chat);
  before(async () => {
    const files = { ...SHOP, "shop/rates.py": LONG };
    chat = await openChat({ name: "apply", files, open: ["shop/rates.py"] });
    const code = (text: string, info = "python") =>
      inOrder([say(`Like this:\n\n\`\`\`${info}\n${text}\`\`\`\n`)]);
    (await theModel()).on("patch", code(DIFF, "diff"));
    (await theModel()).on("fresh", code(FRESH, "python shop/holidays.py"));
    (await theModel()).on("snippet", code(SNIPPET));
    (await theModel()).on("unplaced", code("rate = holiday_rate()\nprint(rate)\n"));
    (await theModel()).on("whole", code(LONG.replace("Invoices", "Bills")));
    await until("the open file", async () => (await text()) === LONG);
  });
  after(() => chat.close());

  const text = (): Promise<string> =>
    chat.host.run(
      (vscode) =>
        vscode.workspace.textDocuments
          .find((one) => one.uri.path.endsWith("rates.py") && one.uri.scheme !== "indwell-shown")
          ?.getText() ?? "",
      null,
    );
  const apply = async (words: string, button = "Apply as an edit"): Promise<void> => {
    await chat.newSession();
    await chat.ask(words);
    await chat.panel.locator(".code").last().hover();
    await chat.panel.getByRole("button", { name: button }).last().click();
  };
  /** Clicks a button of a notification. The list also has notifications that have disappeared. */
  const press = async (words: string, button: string): Promise<void> => {
    await chat.command("notifications.showList");
    const row = chat.page.locator(".notifications-center .notification-list-item", {
      hasText: words,
    });
    await row.first().hover();
    await row.first().getByRole("button", { name: button, exact: true }).click();
  };
  /** Rejects all pending changes in the panel. */
  const reject = (): Promise<void> =>
    chat.panel.getByLabel("Pending changes").getByRole("button", { name: "Reject" }).click();

  test("replaces a function of a long file as a pending change, which can be rejected", async () => {
    assert.ok(LONG.split("\n").length > 84);
    await apply("snippet How?");
    await until("the new function", async () => (await text()) === LONG.replace(OLD, NEW));
    // The selection must be empty, because the next applied code would replace it.
    await until("the new lines", () =>
      chat.host.run((vscode) => {
        const editor = vscode.window.activeTextEditor;
        if (editor === undefined || !editor.document.uri.path.endsWith("rates.py")) return false;
        const { isEmpty, active } = editor.selection;
        return isEmpty && editor.document.lineAt(active.line).text === "    if holiday():";
      }, null),
    );
    await chat.panel.getByLabel("Pending changes").waitFor();
    await chat.picture("apply-code-pending");
    await chat.panel.getByRole("button", { name: "Apply as an edit" }).last().click();
    await chat.page.getByText("shop/rates.py has this code already").waitFor();
    await reject();
    await until("the old text", async () => (await text()) === LONG);
  });

  test("changes nothing if the code's place is unknown, and asks the model if the user agrees", async () => {
    await apply("unplaced How?");
    const dialog = chat.page.locator(".monaco-dialog-box");
    await dialog.getByText("Where does this code belong in shop/rates.py?").waitFor();
    await chat.picture("apply-code-where");
    await dialog.getByRole("button", { name: "Ask the Model", exact: true }).click();
    await chat.panel.getByText("Apply this code to shop/rates.py as an edit.").first().waitFor();
    await chat.idle();
    assert.equal(await text(), LONG);
  });

  test("replaces the file by code that is the whole file, as pending changes", async () => {
    await apply("whole How?");
    await until("the new text", async () => (await text()) === LONG.replace("Invoices", "Bills"));
    await chat.panel.getByLabel("Pending changes").waitFor();
    await reject();
    await until("the old text", async () => (await text()) === LONG);
  });

  test("applies a diff, and creates a missing file after a preview", async () => {
    await apply("patch How?");
    await until("the new function", async () => (await text()) === LONG.replace(OLD, NEW));
    await reject();
    await until("the old text", async () => (await text()) === LONG);
    await apply("fresh How?", "Apply as an edit of shop/holidays.py");
    await chat.page.locator(".tab", { hasText: "shop/holidays.py (new file)" }).waitFor();
    await press("Create the file shop/holidays.py with the code?", "Create");
    const made = join(chat.folder, "shop", "holidays.py");
    await until("the file", () => existsSync(made) && readFileSync(made, "utf8") === FRESH);
  });
});
