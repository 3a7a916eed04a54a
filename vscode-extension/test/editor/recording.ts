/**
 * Records a change from the prompt to the verdict in the real workbench: `node test/editor/recording.ts FOLDER`.
 *
 * Each frame is one PNG of the window; its name is the time in milliseconds. scripts/pictures/shrink.py makes one
 * animation of the frames.
 */
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import type { Locator, Page } from "playwright-core";
import { asChat, type Chat, withModel } from "./chat.ts";
import { type Model, startModel } from "./model.ts";
import { call, inOrder, say, think } from "./model-script.ts";
import { SHOP } from "./shop-files.ts";
import { openWindow } from "./window.ts";
import { startWorkbench } from "./workbench.ts";

const SIZE = { width: 1080, height: 640 };
const PANEL = 380;
const PROMPT = "Fix the rounding in invoice totals";
const KEY_MS = 45;
const LOOK_MS = 1_500;
const POINTER =
  "position:fixed;z-index:99999;width:14px;height:14px;margin:-7px;border-radius:50%;pointer-events:none;" +
  "background:rgba(255,200,60,.85);box-shadow:0 0 0 2px rgba(0,0,0,.5)";

function teach(model: Model): void {
  const how = { piece: 6, paceMs: 40 };
  model.on(
    "Fix",
    inOrder(
      [
        think("The test expects 1.0 for three times 0.333."),
        say("The total is rounded per line. I look for all places that round.", how),
        call("read_file", { path: "shop/invoice.py" }),
        call("grep", { pattern: "round\\(" }),
      ],
      [
        call("edit_file", {
          path: "shop/invoice.py",
          edits: [
            {
              old: "        amount += round(line.quantity * line.price, 2)\n    return amount * (1 - discount)\n",
              new: "        amount += line.quantity * line.price\n    return round(amount * (1 - discount), 2)\n",
            },
            { old: '{line.price}"', new: '{line.price:.2f}"' },
          ],
        }),
      ],
      [call("bash", { command: "python3 -m unittest discover -s tests" })],
      [say("The total is rounded **once** now, at the end. `describe` shows two decimals.", how)],
    ),
  );
}

/** Take pictures until the work is done, as fast as the browser gives them. */
async function recorded(page: Page, folder: string, work: () => Promise<void>): Promise<number> {
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  const begin = performance.now();
  let isOver = false;
  let frames = 0;
  const camera = (async () => {
    while (!isOver) {
      const at = Math.round(performance.now() - begin);
      const picture = await page.screenshot({ animations: "allow" });
      writeFileSync(join(folder, `${String(at).padStart(7, "0")}.png`), picture);
      frames += 1;
    }
  })();
  try {
    await work();
  } finally {
    isOver = true;
    await camera;
  }
  return frames;
}

/** Move a drawn pointer there, since a browser without a screen has none, and click. */
async function press(page: Page, target: Locator): Promise<void> {
  const box = await target.boundingBox();
  if (box === null) throw new Error("nothing to press");
  const [x, y] = [box.x + box.width / 2, box.y + box.height / 2];
  await page.evaluate(
    ([style, left, top]) => {
      const pointer = document.createElement("div");
      pointer.style.cssText = `${style};left:${left}px;top:${top}px`;
      document.body.append(pointer);
      setTimeout(() => pointer.remove(), 1_400);
    },
    [POINTER, x, y] as const,
  );
  await page.waitForTimeout(900);
  await page.mouse.click(x, y);
  await page.mouse.move(SIZE.width / 2, 60); // where nothing has a hover
}

async function play(chat: Chat): Promise<void> {
  const { page, panel } = chat;
  const bar = (words: RegExp): Locator =>
    page.locator(".codelens-decoration a").filter({ hasText: words }).first();
  await page.waitForTimeout(LOOK_MS);
  await chat.composer.click();
  await chat.composer.pressSequentially(PROMPT, { delay: KEY_MS });
  await page.waitForTimeout(400);
  await chat.composer.press("Enter");
  await panel.getByText("shows two decimals").waitFor();
  await chat.idle();
  await bar(/Accept Ctrl\+K Y/).waitFor();
  await page.waitForTimeout(LOOK_MS);
  await press(page, bar(/Accept Ctrl\+K Y/));
  await bar(/ of 2/).waitFor({ state: "hidden" });
  await page.waitForTimeout(LOOK_MS);
  await press(page, bar(/Reject Ctrl\+K N/));
  await panel.getByLabel("Pending changes").getByText("Review").waitFor({ state: "hidden" });
  await page.waitForTimeout(LOOK_MS);
}

const out = process.argv[2];
if (out === undefined) throw new Error("name the folder of the frames");
const model = await startModel();
teach(model);
const workbench = await startWorkbench();
try {
  const settings = { "workbench.activityBar.location": "top", "editor.fontSize": 13 };
  const opening = { name: "shop", files: SHOP, open: ["shop/invoice.py"], settings };
  const window = await openWindow(workbench, withModel(opening, model));
  await window.page.setViewportSize(SIZE);
  const chat = asChat(window);
  await chat.showPanel();
  await chat.setPanelWidth(PANEL);
  const frames = await recorded(chat.page, resolve(out), () => play(chat));
  process.stdout.write(`${frames} frames\n`);
} finally {
  await workbench.close();
  await model.close();
}
