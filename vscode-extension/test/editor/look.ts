/**
 * Takes pictures of the panel in the real VS Code: `node look.ts --theme dark --width 400 --prompt "say hello" --out x.png`.
 * `--help` lists all options.
 */
import { copyFileSync } from "node:fs";
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { parseArgs } from "node:util";
import type { Chat } from "./chat.ts";
import { type Model, startModel } from "./model.ts";
import { whatIsMissing } from "./packages.ts";
import { openFor, reach, STATES } from "./states.ts";
import { type Opening, openWindow, THEMES, type Theme, type Window } from "./window.ts";
import { startWorkbench } from "./workbench.ts";

const HELP = `node look.ts [options]
  --state NAME    bring the panel there first: ${Object.keys(STATES).join(", ")}
  --prompt TEXT   type this and send it (the model of the tests obeys: see model.ts)
  --theme NAME    ${Object.keys(THEMES).join(", ")}; several with commas
  --width PX      width of the panel; several with commas
  --zoom FACTOR   2 is 200 %
  --panel         the panel only, not the whole window
  --wait CSS      wait for this in the panel before the picture
  --script FILE   a module whose export run({window, panel, page, host, model}) does more
  --out FILE      where the picture goes (with several: FILE-theme-width.png)
  --log           print what VS Code's server and the console of the page wrote`;

const { values } = parseArgs({
  options: {
    state: { type: "string", default: "empty" },
    prompt: { type: "string" },
    theme: { type: "string", default: "dark" },
    width: { type: "string", default: "400" },
    zoom: { type: "string" },
    panel: { type: "boolean", default: false },
    wait: { type: "string" },
    script: { type: "string" },
    out: { type: "string", default: "look.png" },
    log: { type: "boolean", default: false },
    help: { type: "boolean", default: false },
  },
});

const PATIENCE_MS = 60_000;
const themes = values.theme.split(",").filter(isTheme);
const widths = values.width.split(",").map(Number);

function print(line: string): void {
  process.stdout.write(`${line}\n`);
}

function isTheme(name: string): name is Theme {
  return name in THEMES;
}

async function look(): Promise<void> {
  const model = await startModel();
  const workbench = await startWorkbench();
  const lines: string[] = [];
  try {
    const theme = themes[0] ?? "dark";
    const open = (opening: Opening) => openWindow(workbench, { ...opening, theme });
    const window = await openFor(values.state, open, model);
    window.page.on("console", (message) => lines.push(`${message.type()}: ${message.text()}`));
    try {
      await steps(window, model);
    } catch (error) {
      print(`the state was not reached; the picture shows the panel as it is:\n${String(error)}`);
      process.exitCode = 1;
    }
    await pictures(window);
  } finally {
    if (values.log) print(`${lines.join("\n")}\n${workbench.log()}`);
    await workbench.close();
    await model.close();
  }
}

async function steps(window: Chat, model: Model): Promise<void> {
  window.page.setDefaultTimeout(PATIENCE_MS);
  await reach(values.state, window);
  if (values.prompt !== undefined) await window.send(values.prompt);
  if (values.script !== undefined) {
    const script: unknown = await import(pathToFileURL(resolve(values.script)).href);
    if (!isScript(script)) throw new Error("the script exports no function `run`");
    await script.run({ window, panel: window.panel, page: window.page, host: window.host, model });
  }
  if (values.wait !== undefined) await window.panel.locator(values.wait).first().waitFor();
  if (values.zoom !== undefined) await window.zoom(Number(values.zoom));
}

async function pictures(window: Window): Promise<void> {
  for (const theme of themes) {
    await window.setTheme(theme);
    for (const width of widths) {
      await window.setPanelWidth(width);
      const several = themes.length * widths.length > 1;
      const name = several ? values.out.replace(/\.png$/, `-${theme}-${width}.png`) : values.out;
      copyFileSync(await window.picture("look", values.panel ? "panel" : "window"), resolve(name));
      print(resolve(name));
    }
  }
}

function isScript(loaded: unknown): loaded is { run: (given: object) => Promise<void> } {
  return (
    typeof loaded === "object" &&
    loaded !== null &&
    "run" in loaded &&
    typeof loaded.run === "function"
  );
}

const missing = whatIsMissing();
if (values.help) print(HELP);
else if (missing !== undefined) print(missing);
else await look();
