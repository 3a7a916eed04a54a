/**
 * Records a change from the selection to the verdicts in the real workbench: `node test/editor/recording.ts FOLDER`.
 *
 * Each frame is one PNG of the window; its name is the time in milliseconds. scripts/pictures/shrink.py makes one
 * animation of the frames. The script takes a frame after each step, so a busy machine changes nothing.
 */
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import type { Locator, Page } from "playwright-core";
import { asChat, type Chat, withModel } from "./chat.ts";
import { type Model, startModel } from "./model.ts";
import { call, inOrder, say, think, wait } from "./model-script.ts";
import { SHOP } from "./shop-files.ts";
import { until } from "./waiting.ts";
import { openWindow } from "./window.ts";
import { startWorkbench } from "./workbench.ts";

const SIZE = { width: 800, height: 500 };
const PANEL = 310;
const PROMPT = "Fix the rounding";
const SELECTED = [15, 18, 20]; // the last line of the selection in each frame
const TOP = 5; // the first visible line, from 0
const SETTLED_MS = 500; // colours and bars follow the text
const SETTINGS = {
  "workbench.activityBar.location": "hidden",
  "workbench.statusBar.visible": false,
  "workbench.layoutControl.enabled": false,
  "window.commandCenter": false,
  "breadcrumbs.enabled": false,
  "editor.fontSize": 11,
  "editor.folding": false,
  "editor.glyphMargin": false,
  "editor.lineNumbersMinChars": 2,
  "editor.renderLineHighlight": "none",
  "editor.occurrencesHighlight": "off",
  "editor.renderWhitespace": "none",
  "editor.scrollbar.vertical": "hidden",
  "editor.scrollbar.horizontal": "hidden",
  "editor.stickyScroll.enabled": false,
};
const POINTER =
  "position:fixed;z-index:99999;width:14px;height:14px;margin:-7px;border-radius:50%;pointer-events:none;" +
  "background:#ffc83c;border:2px solid #443300;box-sizing:border-box";

/** Delays the model's replies until a frame was taken. */
class Gates {
  readonly #opened: (() => void)[] = [];
  readonly #gates: readonly Promise<void>[];

  constructor(count: number) {
    this.#gates = Array.from(
      { length: count },
      () => new Promise<void>((open) => this.#opened.push(open)),
    );
  }

  readonly at = (number: number): ReturnType<typeof wait> => wait(this.#gates[number]);

  open(number: number): void {
    this.#opened[number]?.();
  }
}

function teach(model: Model, gates: Gates): void {
  model.on(
    "Fix",
    inOrder(
      [
        think("The test expects 1.0 for three times 0.333."),
        say("The total is rounded per line. I look for all places that round."),
        gates.at(0),
        call("read_file", { path: "shop/invoice.py" }),
        call("grep", { pattern: "round\\(" }),
      ],
      [
        gates.at(1),
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
      [gates.at(2), call("bash", { command: "python3 -m unittest discover -s tests" })],
      [say("The total is rounded **once** now, at the end. `describe` shows two decimals.")],
    ),
  );
}

/** Writes frames to a folder, each with the time at which it is shown. */
class Film {
  readonly #page: Page;
  readonly #folder: string;
  #atMs = 0;

  constructor(page: Page, folder: string) {
    this.#page = page;
    this.#folder = folder;
    rmSync(folder, { recursive: true, force: true });
    mkdirSync(folder, { recursive: true });
  }

  /** Takes a frame that is shown for `ms` milliseconds. */
  async frame(ms: number): Promise<void> {
    const picture = await this.#page.screenshot({ animations: "disabled", caret: "hide" });
    writeFileSync(join(this.#folder, `${String(this.#atMs).padStart(7, "0")}.png`), picture);
    this.#atMs += ms;
  }
}

/** Draws a pointer at the target, because a headless browser has none; takes a frame, and clicks. */
async function press(page: Page, film: Film, target: Locator): Promise<void> {
  const box = await target.boundingBox();
  if (box === null) throw new Error("nothing to press");
  const [x, y] = [box.x + box.width / 2, box.y + box.height / 2];
  const pointer = await page.evaluateHandle(
    ([style, left, top]) => {
      const drawn = document.createElement("div");
      drawn.style.cssText = `${style};left:${left}px;top:${top}px`;
      document.body.append(drawn);
      return drawn;
    },
    [POINTER, x, y] as const,
  );
  await film.frame(900);
  await page.mouse.click(x, y);
  await page.mouse.move(SIZE.width - 150, 12); // nothing reacts to the pointer there
  await pointer.evaluate((drawn) => drawn.remove());
}

async function play(chat: Chat, model: Model, gates: Gates, film: Film): Promise<void> {
  const { page, panel } = chat;
  const settled = (): Promise<void> => page.waitForTimeout(SETTLED_MS);
  const bar = (words: RegExp): Locator =>
    page.locator(".codelens-decoration a").filter({ hasText: words }).first();
  // The code lens of all changes is above the first line; if visible, it would move every line.
  await chat.host.run((vscode, top) => {
    const first = new vscode.Range(top, 0, top, 0);
    vscode.window.activeTextEditor?.revealRange(first, vscode.TextEditorRevealType.AtTop);
  }, TOP);
  await settled();
  await film.frame(1_200);
  const select = async (lines: readonly [number, number]): Promise<void> => {
    await chat.host.run((vscode, [first, last]) => {
      const editor = vscode.window.activeTextEditor;
      if (editor !== undefined) editor.selection = new vscode.Selection(first, 0, last, 0);
    }, lines);
    await settled();
  };
  for (const line of SELECTED) {
    await select([14, line]);
    await film.frame(150);
  }
  await film.frame(900);
  await chat.composer.click();
  for (const letters of PROMPT.match(/.{1,2}/g) ?? []) {
    await chat.composer.pressSequentially(letters);
    await film.frame(110);
  }
  await film.frame(500);
  await chat.composer.press("Enter");
  for (const [number, ms] of [700, 900, 2_000].entries()) {
    await until("the model's turn", () => model.requests.length > number);
    await settled();
    await film.frame(ms);
    if (number === 1) await select([20, 20]); // shows the colours of the changes
    gates.open(number);
  }
  await panel.getByText("shows two decimals").waitFor();
  await chat.idle();
  await bar(/Accept Ctrl\+K Y/).waitFor();
  await settled();
  await film.frame(1_500);
  await press(page, film, bar(/Accept Ctrl\+K Y/));
  await bar(/ of 2/).waitFor({ state: "hidden" });
  await settled();
  await film.frame(1_200);
  await press(page, film, bar(/Accept Ctrl\+K Y/));
  await panel.getByLabel("Pending changes").getByText("Review").waitFor({ state: "hidden" });
  await settled();
  await film.frame(0); // the last one is shown the longest
}

const out = process.argv[2];
if (out === undefined) throw new Error("name the folder of the frames");
const model = await startModel();
const gates = new Gates(3);
teach(model, gates);
const workbench = await startWorkbench();
try {
  const opening = { name: "shop", files: SHOP, open: ["shop/invoice.py"], settings: SETTINGS };
  const window = await openWindow(workbench, withModel(opening, model));
  await window.page.setViewportSize(SIZE);
  const chat = asChat(window);
  await chat.showPanel();
  await chat.setPanelWidth(PANEL);
  await play(chat, model, gates, new Film(window.page, resolve(out)));
} finally {
  await workbench.close();
  await model.close();
}
