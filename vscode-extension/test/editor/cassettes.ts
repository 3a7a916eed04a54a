/**
 * Records sessions of the real VS Code as cassettes: `node test/editor/cassettes.ts FOLDER [SESSION …]`.
 *
 * The setting `indwell.serverPath` names a script that starts `indwell record`, as docs/diagnosis.md describes.
 * Compressed by `xz`, the files are replayed by tests/cli/test_cassettes.py.
 */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { asChat, type Chat, withModel } from "./chat.ts";
import { startModel } from "./model.ts";
import { indwellPath } from "./packages.ts";
import { addShopScripts } from "./shop.ts";
import { SHOP } from "./shop-files.ts";
import { until } from "./waiting.ts";
import { openWindow } from "./window.ts";
import { startWorkbench } from "./workbench.ts";

/** What the user does in each session. */
const SESSIONS: Readonly<Record<string, (chat: Chat) => Promise<void>>> = {
  /** A prompt about the selection, two changes, a verdict on each, and one verdict that is undone. */
  review: async (chat) => {
    const verdicts = chat.panel.getByRole("button", { name: /^Accept the change/ });
    const left = (count: number): Promise<unknown> =>
      until(`${count} verdicts left`, async () => (await verdicts.count()) === count);
    await chat.host.run((vscode) => {
      const editor = vscode.window.activeTextEditor;
      if (editor !== undefined) editor.selection = new vscode.Selection(15, 0, 20, 0);
    }, null);
    await chat.ask("Fix the rounding in invoice totals");
    await left(2);
    await verdicts.first().click();
    await left(1);
    await chat.panel.getByRole("button", { name: "Undo the last verdict" }).click();
    await left(2);
    await verdicts.first().click();
    await left(1);
    await chat.panel
      .getByRole("button", { name: /^Reject the change/ })
      .first()
      .click();
    await left(0);
  },
  /** A command that is refused, one that is allowed, and a turn that is stopped. */
  stop: async (chat) => {
    await chat.send("ask echo refused");
    await chat.answer("No");
    await chat.idle();
    await chat.send("ask echo allowed");
    await chat.answer("Once");
    await chat.idle();
    await chat.send("hang Reading the invoice");
    await chat.panel.getByText("Reading the invoice …").waitFor();
    await chat.command("indwell.cancel");
    await chat.idle();
  },
};

function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

const [out, ...only] = process.argv.slice(2);
if (out === undefined) throw new Error("name the folder of the cassettes");
const folder = resolve(out);
mkdirSync(folder, { recursive: true });
const model = await startModel();
addShopScripts(model);
const workbench = await startWorkbench();
try {
  for (const [name, play] of Object.entries(SESSIONS)) {
    if (only.length > 0 && !only.includes(name)) continue;
    const cassette = join(folder, `vscode-${name}.jsonl`);
    if (existsSync(cassette)) throw new Error(`${cassette} exists; remove it first`);
    const { root } = workbench.place;
    const program = join(root, `record-${name}`);
    const number = `${program}.pid`;
    const lines = [
      "#!/bin/sh",
      "shift 2 # the words `serve --stdio` from VS Code",
      `echo $$ >'${number}' # of the recorder too, which replaces this shell`,
      `. '${join(root, "variables")}'`,
      "unset INDWELL_TEST_PROBE INDWELL_TEST_TOKEN",
      `exec '${indwellPath()}' record --to '${cassette}' "$@"`,
      "",
    ];
    writeFileSync(program, lines.join("\n"), { mode: 0o755 });
    const opening = {
      name,
      files: SHOP,
      open: ["shop/invoice.py"],
      settings: { "indwell.serverPath": program },
    };
    const chat = asChat(await openWindow(workbench, withModel(opening, model)));
    await chat.showPanel();
    await play(chat);
    // The recorder writes its last lines at its end. The end of the workbench would kill it before.
    await chat.command("indwell.stopServer");
    await until("the recorder has ended", () => !isRunning(Number(readFileSync(number, "utf8"))));
    await chat.close();
    process.stdout.write(`${cassette}\n`);
  }
} finally {
  await workbench.close();
  await model.close();
}
