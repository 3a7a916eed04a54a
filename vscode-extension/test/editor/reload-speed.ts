/**
 * How soon a reloaded window shows the chat, beside the explorer of the workbench itself:
 * `node test/editor/reload-speed.ts [ROUNDS]`. Prints medians in milliseconds and their ratio.
 */
import type { Locator } from "playwright-core";
import { asChat, withModel } from "./chat.ts";
import { startModel } from "./model.ts";
import { SHOP } from "./shop-files.ts";
import { openWindow } from "./window.ts";
import { startWorkbench } from "./workbench.ts";

const GOAL = 1.2;
const WORDS = "The words of before the reload.";
const rounds = Number(process.argv[2] ?? 5);

const model = await startModel();
const workbench = await startWorkbench();
try {
  const opening = withModel({ name: "reload-speed", files: SHOP }, model);
  const chat = asChat(await openWindow(workbench, opening));
  await chat.showPanel();
  await chat.ask(`say ${WORDS}`);
  const answer = chat.panel.getByText(WORDS, { exact: true }).last();
  const row = chat.page.locator(".explorer-folders-view .monaco-list-row").first();
  const reload = async (shown: Locator): Promise<number> => {
    await chat.page.waitForTimeout(3_000); // what a window stores as it rests is on disk
    chat.host.forget();
    const start = performance.now();
    await chat.page.reload({ waitUntil: "commit" });
    await shown.waitFor();
    const taken = performance.now() - start;
    await chat.host.run((vscode) => vscode.workspace.name ?? "", null);
    return taken;
  };
  const own: number[] = [];
  const ours: number[] = [];
  for (let round = 0; round < rounds; round += 1) {
    await chat.command("workbench.view.explorer");
    await row.waitFor();
    own.push(await reload(row));
    await chat.showPanel();
    await answer.waitFor();
    ours.push(await reload(answer));
  }
  const ratio = median(ours) / median(own);
  process.stdout.write(
    `explorer ${list(own)}: median ${Math.round(median(own))} ms\n` +
      `chat     ${list(ours)}: median ${Math.round(median(ours))} ms\n` +
      `ratio ${ratio.toFixed(2)} (goal: at most ${GOAL})\n`,
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
