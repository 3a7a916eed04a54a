/**
 * Rewrites themes/*.json: the style and the body classes that VS Code gives to a webview in each theme.
 * `node test/browser/dump-themes.ts`.
 */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { Frame } from "playwright-core";
import { openWindow } from "../editor/window.ts";
import { startWorkbench } from "../editor/workbench.ts";
import { THEMES } from "./page.ts";

async function webview(frames: () => readonly Frame[]): Promise<Frame> {
  for (;;) {
    for (const frame of frames()) {
      const found = await frame
        .evaluate(
          () => document.documentElement.style.getPropertyValue("--vscode-foreground") !== "",
        )
        .catch(() => false);
      if (found) return frame;
    }
    await sleep(200);
  }
}

const workbench = await startWorkbench();
try {
  const window = await openWindow(workbench, { name: "themes", files: { "a.py": "a = 1\n" } });
  await window.host.run(async (vscode) => {
    const panel = vscode.window.createWebviewPanel("themes", "Themes", vscode.ViewColumn.One, {});
    panel.webview.html = "<!doctype html><html><body>Themes</body></html>";
  }, null);
  const frame = await webview(() => window.page.frames());
  for (const theme of THEMES) {
    await window.setTheme(theme);
    await sleep(1500);
    const seen = await frame.evaluate(() => ({
      style: document.documentElement.getAttribute("style") ?? "",
      body: document.body.className,
    }));
    const path = join(import.meta.dirname, "themes", `${theme}.json`);
    writeFileSync(path, `${JSON.stringify(seen, null, 2)}\n`);
    process.stdout.write(`${path} ${seen.style.length}\n`);
  }
} finally {
  await workbench.close();
}
