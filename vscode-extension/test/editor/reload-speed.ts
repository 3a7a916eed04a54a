/**
 * Measures how soon a reloaded window shows the chat, compared with VS Code's explorer and with a view of an
 * extension that only shows one sentence: `node test/editor/reload-speed.ts [ROUNDS]`.
 * Prints medians in milliseconds and their ratios to the explorer.
 */
import { join } from "node:path";
import type { Locator } from "playwright-core";
import { asChat, withModel } from "./chat.ts";
import { startModel } from "./model.ts";
import { SHOP } from "./shop-files.ts";
import { openWindow } from "./window.ts";
import { startWorkbench } from "./workbench.ts";

const GOAL = 1.2;
const BARE = "The text of a bare view.";
const WORDS = "Text from before the reload.";
const rounds = Number(process.argv[2] ?? 5);

const model = await startModel();
const workbench = await startWorkbench({
  more: { "indwell-tests.bare-0.0.1": join(import.meta.dirname, "bare") },
});
try {
  const opening = withModel({ name: "reload-speed", files: SHOP }, model);
  const chat = asChat(await openWindow(workbench, opening));
  await chat.showPanel();
  await chat.ask(`say ${WORDS}`);
  const answer = chat.panel.getByText(WORDS, { exact: true }).last();
  const row = chat.page.locator(".explorer-folders-view .monaco-list-row").first();
  const reload = async (shown: Locator): Promise<number> => {
    await chat.page.waitForTimeout(3_000); // the window stores its state while it is idle
    chat.host.forget();
    const start = performance.now();
    await chat.page.reload({ waitUntil: "commit" });
    await shown.waitFor();
    const taken = performance.now() - start;
    await chat.host.run((vscode) => vscode.workspace.name ?? "", null);
    return taken;
  };
  const sentence = chat.panel.getByText(BARE, { exact: true });
  const own: number[] = [];
  const bare: number[] = [];
  const ours: number[] = [];
  for (let round = 0; round < rounds; round += 1) {
    await chat.command("workbench.view.explorer");
    await row.waitFor();
    own.push(await reload(row));
    await chat.command("bare.view.focus");
    await sentence.waitFor();
    bare.push(await reload(sentence));
    await chat.showPanel();
    await answer.waitFor();
    ours.push(await reload(answer));
  }
  const summary = (name: string, values: readonly number[]): string =>
    `${name} ${list(values)}: median ${Math.round(median(values))} ms, ` +
    `${(median(values) / median(own)).toFixed(2)} of the explorer\n`;
  process.stdout.write(
    `${summary("explorer", own)}${summary("bare    ", bare)}${summary("chat    ", ours)}` +
      `goal of the chat: at most ${GOAL} of the explorer; ` +
      `it shows ${Math.round(median(ours) - median(bare))} ms after the bare view\n`,
  );
} finally {
  await workbench.close();
  await model.close();
}

function median(values: readonly number[]): number {
  return values.toSorted((one, other) => one - other)[values.length >> 1] ?? Number.NaN;
}

function list(values: readonly number[]): string {
  return values.map((value) => Math.round(value)).join(", ");
}
