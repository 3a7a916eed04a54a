/** Models of VS Code: an extension provides one, and Indwell uses it with tools and without an API key. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import type * as VSCode from "vscode";
import { asChat, type Chat } from "../editor/chat.ts";
import { openPlain, pictureFailures, theWorkbench } from "../editor/shared.ts";
import { SHOP } from "../editor/shop-files.ts";
import { until } from "../editor/waiting.ts";

const FILE = "notes.txt";
const FILES = { ...SHOP, [FILE]: "one\ntwo\n" };

/** A request that the model got, as JSON. */
interface ModelRequest {
  readonly messages: readonly {
    readonly role: number;
    readonly content: readonly Record<string, unknown>[];
  }[];
  readonly tools: readonly string[];
  readonly isCancelled: boolean;
}

/** Runs in the extension host. Registers a model that reads and edits a file; some prompts make it wait or refuse. */
function registerModel(vscode: typeof VSCode, file: string, kept: Record<string, unknown>): void {
  const asked: unknown[] = [];
  kept["asked"] = asked;
  // With this proposed API, VS Code asks the user for consent, as it does for Copilot's models.
  const asks = { requiresAuthorization: { label: "somebody" } };
  const model: VSCode.LanguageModelChatInformation = {
    ...asks,
    id: "tiny/1",
    name: "Tiny",
    family: "tiny",
    version: "1",
    maxInputTokens: 48_000,
    maxOutputTokens: 4_000,
    capabilities: { toolCalling: true, imageInput: false },
  };
  kept["model"] = vscode.lm.registerLanguageModelChatProvider("probe", {
    provideLanguageModelChatInformation: () => [model],
    provideTokenCount: async () => 1,
    provideLanguageModelChatResponse: async (_model, messages, options, progress, token) => {
      const one = {
        messages: messages.map(({ role, content }) => ({ role, content: [...content] })),
        tools: (options.tools ?? []).map((tool) => tool.name),
        isCancelled: false,
      };
      asked.push(one);
      const newest = JSON.stringify(messages.at(-1));
      const text = (words: string) => progress.report(new vscode.LanguageModelTextPart(words));
      const call = (id: string, name: string, given: object) =>
        progress.report(new vscode.LanguageModelToolCallPart(id, name, given));
      if (newest.includes("wait-for-me")) {
        text("I begin. ");
        await new Promise<void>((resolve) => token.onCancellationRequested(() => resolve()));
        one.isCancelled = true;
        return;
      }
      if (newest.includes("no-quota"))
        throw vscode.LanguageModelError.Blocked("the month is used up");
      if (newest.includes('"e1"')) return text("It says three now.");
      if (newest.includes('"r1"')) {
        text("I change ");
        text("it.");
        return call("e1", "edit_file", { path: file, edits: [{ old: "two", new: "three" }] });
      }
      text("I look first.");
      call("r1", "read_file", { path: file });
    },
  });
}

describe("a model of VS Code", () => {
  let chat: Chat;
  pictureFailures(() => chat);
  const asked = (): Promise<readonly ModelRequest[]> =>
    chat.host.run((_vscode, _none, kept) => kept["asked"] as readonly ModelRequest[], null);
  const consent = () =>
    chat.page
      .locator(".monaco-dialog-box")
      .getByText(/Indwell.*wants to access the language models provided by Probe/);
  before(async () => {
    const opening = {
      name: "models",
      files: FILES,
      settings: { "chat.disableAIFeatures": false },
      config: 'mode = "review"\n',
      payload: [["enableProposedApi", "true"]] as const,
    };
    chat = asChat(await openPlain(opening));
    await chat.host.run(registerModel, FILE);
    await chat.showPanel();
  });
  after(() => chat.close());

  test("is offered if no endpoint is configured, and gets no request without the user's consent", async () => {
    await chat.send(`change ${FILE}`);
    await chat.panel.getByRole("heading", { name: "The editor’s models" }).waitFor();
    await chat.picture("models-first-run");
    await chat.panel.getByLabel("Model of VS Code").selectOption({ label: "probe/tiny/1" });
    await chat.panel.getByRole("button", { name: "Use", exact: true }).first().click();
    await consent().waitFor();
    await chat.picture("models-consent");
    await chat.page.getByRole("button", { name: "Cancel" }).click();
    await chat.panel
      .getByText(
        /was not allowed to give Indwell its model.*send the prompt again and allow the access/,
      )
      .first()
      .waitFor();
    await chat.idle();
    assert.deepEqual(await asked(), []);
  });

  test("answers with tools once the user has given consent", async () => {
    await chat.send(`change ${FILE}`);
    await consent().waitFor();
    await chat.page.getByRole("button", { name: "Allow" }).click();
    await chat.panel.getByText("It says three now.", { exact: true }).waitFor();
    await chat.idle();
    assert.equal(readFileSync(join(chat.folder, FILE), "utf8"), "one\nthree\n");
  });

  test("gets requests in VS Code's format, with the tools", async () => {
    const [first, second, third] = await asked();
    assert.ok(first !== undefined && second !== undefined && third !== undefined);
    assert.deepEqual(
      first.messages.map((message) => message.role),
      [1, 1],
    );
    assert.match(JSON.stringify(first.messages[0]), /Indwell/);
    assert.ok(first.tools.includes("read_file") && first.tools.includes("edit_file"));
    const [reply, result] = second.messages.slice(-2);
    assert.equal(reply?.role, 2);
    assert.deepEqual(
      reply?.content.map((part) => part["value"] ?? part["name"]),
      ["I look first.", "read_file"],
    );
    assert.equal(result?.content[0]?.["callId"], "r1");
    assert.match(JSON.stringify(result), /two/);
    assert.match(JSON.stringify(third.messages.at(-1)), /"e1"/);
  });

  test("is listed in the model menu with its context window, and is checked", async () => {
    await chat.panel.locator(".model-picker").click();
    const row = chat.panel.getByRole("menuitemradio", { name: /probe\/tiny\/1@vscode/ });
    await row.getByText("through VS Code · 48k window · tools", { exact: true }).waitFor();
    assert.equal(await row.getAttribute("aria-checked"), "true");
    await chat.picture("models-chosen");
    await chat.page.keyboard.press("Escape");
  });

  test("is cancelled when the user stops the turn", async () => {
    await chat.newSession();
    await chat.send("wait-for-me");
    await chat.panel.getByText("I begin.").first().waitFor();
    await chat.composer.press("Escape");
    await chat.idle();
    await until("the cancellation", async () => (await asked()).at(-1)?.isCancelled === true);
  });

  test("shows a sentence that explains why it refuses", async () => {
    await chat.newSession();
    await chat.send("no-quota");
    await chat.panel
      .getByText(/quota of your subscription may be used up.*the month is used up/)
      .first()
      .waitFor();
    await chat.picture("models-blocked");
  });

  test("requests nothing outside this machine", async () => {
    assert.deepEqual((await theWorkbench()).outside, []);
  });
});
