/** Opens a window of the workbench with a folder and the chat panel. */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { FrameLocator, Locator, Page } from "playwright-core";
import { type ExtensionHost, extensionHost } from "./extension-host.ts";
import { EXTENSION } from "./packages.ts";
import { type Files, putSettings, putWorkspace } from "./place.ts";
import type { Workbench } from "./workbench.ts";

/** The themes in which all states are checked. */
export const THEMES = {
  light: "Light 2026",
  dark: "Dark 2026",
  contrast: "Default High Contrast",
  "contrast-light": "Default High Contrast Light",
} as const;

/** A theme by its short name. */
export type Theme = keyof typeof THEMES;

/** The folder of screenshots; git ignores it, and CI keeps it. */
export const ARTIFACTS = join(EXTENSION, "test", "artifacts");

/** The panel's frame. After it was hidden and shown again, its URL has no purpose. */
const VIEW = "iframe.webview.ready[src*='purpose=webviewView']";
/** Frames at the right edge of the window: an editor tab reaches it, the panel does not. */
const RIGHT = ".webview-overlay-outer-right";
const PATIENCE_MS = 60_000;
const QUIET = {
  "workbench.startupEditor": "none",
  "workbench.tips.enabled": false,
  "workbench.editor.useModal": "off",
  "workbench.reduceMotion": "on",
  "workbench.welcomePage.walkthroughs.openOnInstall": false,
  "workbench.secondarySideBar.defaultVisibility": "hidden",
  "chat.commandCenter.enabled": false,
  "chat.disableAIFeatures": true,
  "editor.minimap.enabled": false,
  "git.enabled": false,
  "extensions.ignoreRecommendations": true,
  "security.workspace.trust.enabled": false,
  "telemetry.telemetryLevel": "off",
  "window.menuBarVisibility": "compact",
  "window.confirmBeforeClose": "never",
};

/** The options of a window. */
export interface Opening {
  /** Name of the workspace; each test has its own. */
  readonly name: string;
  readonly files: Files;
  /** Paths of files that are open from the start. */
  readonly open?: readonly string[];
  readonly settings?: Readonly<Record<string, unknown>>;
  /** Variables of the server, such as OPENAI_BASE_URL. */
  readonly variables?: Readonly<Record<string, string>>;
  /** The user's own `config.toml`. */
  readonly config?: string;
  readonly theme?: Theme;
  /** Further entries of the page's payload, such as `extensionTestsPath`. */
  readonly payload?: readonly (readonly [string, string])[];
  /** Called with the page before it loads the workbench. */
  readonly prepare?: (page: Page) => Promise<void>;
}

/** An open window. */
export interface Window {
  readonly page: Page;
  readonly host: ExtensionHost;
  /** The folder of the workspace. */
  readonly folder: string;
  /** The content of the chat panel. */
  readonly panel: FrameLocator;
  /** The content of the chat in the visible editor tab. */
  readonly tab: FrameLocator;
  /** Runs a command by its id, in the extension host. */
  readonly command: (id: string, ...args: readonly unknown[]) => Promise<unknown>;
  /** Runs a command by its title in the command palette, as a user does. */
  readonly palette: (title: string) => Promise<void>;
  /** Shows the panel and waits until it draws. */
  readonly showPanel: () => Promise<void>;
  readonly setTheme: (theme: Theme) => Promise<void>;
  /** Drags the edge of the side bar until it has this width, in CSS pixels. */
  readonly setPanelWidth: (width: number) => Promise<void>;
  /** Browser zoom: 2 is 200 %. */
  readonly zoom: (factor: number) => Promise<void>;
  readonly reload: () => Promise<void>;
  /** Returns the values that VS Code has stored for workspaces, as JSON; a reload keeps only these. */
  readonly stored: () => Promise<readonly string[]>;
  /** Takes a picture of the window or of the panel; returns its path. */
  readonly picture: (name: string, what?: "window" | "panel") => Promise<string>;
  readonly close: () => Promise<void>;
}

/** Opens a window. The server trusts the window's folder unless the variables say otherwise. */
export async function openWindow(workbench: Workbench, opening: Opening): Promise<Window> {
  const { place, port } = workbench;
  const folder = putWorkspace(place, opening.name, opening.files);
  putSettings(place, {
    ...QUIET,
    "workbench.colorTheme": THEMES[opening.theme ?? "dark"],
    "indwell.serverPath": place.serve,
    ...opening.settings,
  });
  const config = join(place.root, "config", opening.name);
  mkdirSync(join(config, "indwell"), { recursive: true });
  writeFileSync(join(config, "indwell", "config.toml"), opening.config ?? "");
  place.setVariables({
    INDWELL_STATE: join(place.root, "state", opening.name),
    XDG_CONFIG_HOME: config,
    XDG_CACHE_HOME: join(place.root, "cache"),
    INDWELL_TRUSTED: folder,
    ...opening.variables,
  });
  const host = extensionHost(place.probe, opening.name, workbench.token);
  host.forget();
  const page = await workbench.context.newPage();
  page.setDefaultTimeout(PATIENCE_MS);
  await opening.prepare?.(page);
  await page.goto(address(port, folder, opening));
  await ready(page, host);
  const panel = page
    .frameLocator(`${VIEW}, .webview-overlay-content:not(${RIGHT}) > iframe.webview.ready`)
    .frameLocator("#active-frame");
  const tab = page
    .frameLocator(`${RIGHT} > iframe.webview.ready:not(${VIEW})`)
    .frameLocator("#active-frame");
  const command: Window["command"] = (id, ...args) =>
    host.run(
      async (vscode, [name, rest]) => {
        const result: unknown = await vscode.commands.executeCommand(name, ...rest);
        return result === undefined ? null : result;
      },
      [id, args] as const,
    );
  return {
    page,
    host,
    folder,
    panel,
    tab,
    command,
    palette: (title) => choose(page, title),
    showPanel: async () => {
      await command("indwell.chat.focus");
      await panel.locator("#root > *").first().waitFor();
    },
    setTheme: async (theme) => {
      await host.run(async (vscode, name) => {
        await vscode.workspace
          .getConfiguration("workbench")
          .update("colorTheme", name, vscode.ConfigurationTarget.Global);
      }, THEMES[theme]);
      await page.locator(`.monaco-workbench.${THEME_CLASS[theme]}`).waitFor();
    },
    setPanelWidth: (width) => dragSideBar(page, width),
    zoom: async (factor) => {
      const session = await page.context().newCDPSession(page);
      const size = page.viewportSize() ?? { width: 1280, height: 860 };
      await session.send("Emulation.setDeviceMetricsOverride", {
        width: Math.round(size.width / factor),
        height: Math.round(size.height / factor),
        deviceScaleFactor: factor,
        mobile: false,
      });
    },
    reload: async () => {
      host.forget();
      await page.reload();
      await ready(page, host);
    },
    stored: () => page.evaluate(storedValues),
    picture: async (name, what = "window") => {
      mkdirSync(ARTIFACTS, { recursive: true });
      const path = join(ARTIFACTS, `${name}.png`);
      const target: Page | Locator = what === "window" ? page : sideBar(page);
      await target.screenshot({ path, animations: "disabled", caret: "hide" });
      return path;
    },
    close: async () => {
      await page.close({ runBeforeUnload: false });
      host.forget();
    },
  };
}

/** Runs in the page of the workbench. Reads the values of VS Code's storage. */
async function storedValues(): Promise<readonly string[]> {
  const names = (await indexedDB.databases()).flatMap(({ name }) =>
    name?.startsWith("vscode-web-state-db") ? [name] : [],
  );
  const found = names.map(
    (name) =>
      new Promise<readonly string[]>((done) => {
        const opening = indexedDB.open(name);
        opening.onerror = () => done([]);
        opening.onsuccess = () => {
          const reading = opening.result
            .transaction("ItemTable", "readonly")
            .objectStore("ItemTable")
            .getAll();
          reading.onsuccess = () => {
            opening.result.close();
            done(reading.result.map(String));
          };
        };
      }),
  );
  return (await Promise.all(found)).flat();
}

const THEME_CLASS: Readonly<Record<Theme, string>> = {
  light: "vs",
  dark: "vs-dark",
  contrast: "hc-black",
  "contrast-light": "hc-light",
};

function address(port: number, folder: string, opening: Opening): string {
  const remote = (path: string): string => `vscode-remote://127.0.0.1:${port}${path}`;
  const payload = [
    ["skipWelcome", "true"],
    ...(opening.open ?? []).map((path) => ["openFile", remote(join(folder, path))]),
    ...(opening.payload ?? []).map(([key, value]) => [
      key,
      value.startsWith("/") ? remote(value) : value,
    ]),
  ];
  return `http://127.0.0.1:${port}/?folder=${encodeURIComponent(folder)}&payload=${encodeURIComponent(JSON.stringify(payload))}`;
}

async function ready(page: Page, host: ExtensionHost): Promise<void> {
  await page.locator(".monaco-workbench .part.editor").waitFor();
  await host.run((vscode) => vscode.workspace.name ?? "", null);
}

async function choose(page: Page, title: string): Promise<void> {
  await page.keyboard.press("F1");
  const input = page.locator(".quick-input-widget input[type=text]");
  await input.waitFor();
  await input.fill(`>${title}`);
  await page.locator(".quick-input-list .monaco-list-row", { hasText: title }).first().click();
}

/** The visible side bar, which contains the panel. */
function sideBar(page: Page): Locator {
  return page.locator(".part.sidebar:visible, .part.auxiliarybar:visible").first();
}

async function dragSideBar(page: Page, width: number): Promise<void> {
  const bar = sideBar(page);
  for (let tries = 0; tries < 3; tries += 1) {
    const box = await bar.boundingBox();
    if (box === null) throw new Error("no side bar is open");
    if (Math.abs(box.width - width) < 1) return;
    const isLeft = await bar.evaluate((element) => element.classList.contains("left"));
    const edge = isLeft ? box.x + box.width : box.x;
    const y = box.y + box.height / 2;
    await page.mouse.move(edge, y);
    await page.mouse.down();
    await page.mouse.move(isLeft ? edge + width - box.width : edge - (width - box.width), y, {
      steps: 4,
    });
    await page.mouse.up();
    await page.mouse.move(box.x + box.width + 200, y); // moves the pointer away from all controls
  }
}
