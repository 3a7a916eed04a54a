/** Opens the webview in Chromium with a fake extension host, without VS Code. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach } from "node:test";
import type { Browser, BrowserContext, CDPSession, Page } from "playwright-core";
import { kindsOf } from "../../src/extension/colours/kinds.ts";
import type { ToHost, ToPanel } from "../../src/shared/messages.ts";
import type { Action } from "../../src/shared/state/action.ts";
import type { PanelState } from "../../src/shared/state/state.ts";
import { browserPath, EXTENSION, loadPlaywright } from "../editor/packages.ts";
import { bundleWebview, type Files } from "./bundle.ts";

const ORIGIN = "http://panel.test";
const NONCE = "dGhlIG5vbmNlIG9mIHRlc3Rz";
/** The content security policy of the real page, with this origin in place of `webview.cspSource`. */
export const POLICY = `default-src 'none'; img-src data:; font-src ${ORIGIN}; style-src ${ORIGIN}; script-src 'nonce-${NONCE}'`;

export const THEMES = ["light", "dark", "contrast", "contrast-light"] as const;
export type ThemeName = (typeof THEMES)[number];

/** How a panel is opened. Sizes are in CSS pixels. */
export interface PanelOptions {
  readonly theme?: ThemeName;
  readonly width?: number;
  readonly height?: number;
  /** Device pixels per CSS pixel. */
  readonly scale?: number;
  /** Keeps the panel open when a test ends, for tests that run concurrently or share the panel. */
  readonly keepOpen?: boolean;
  /** Installs a fake clock, which `page.clock` can advance; time also passes by itself. */
  readonly clock?: boolean;
  /** The display language, as VS Code names it; English by default. */
  readonly language?: string;
}

/** A panel in a page. */
export interface Panel {
  readonly page: Page;
  /** URLs that the page requested beyond its own three files. */
  readonly requests: readonly string[];
  /** Errors and warnings of the page's console, and uncaught exceptions. */
  readonly consoleErrors: readonly string[];
  /** Waits until pending changes are drawn; resolves with all messages that the panel posted, oldest first. */
  posted(): Promise<readonly ToHost[]>;
  /** Delivers a message of the host; resolves when it has been drawn. */
  receive(message: ToPanel): Promise<void>;
  /** Shows a whole state; resolves when it has been drawn. */
  show(state: PanelState, typed?: string): Promise<void>;
  /** Applies actions to the state that `show` has shown; resolves when they have been drawn. */
  play(actions: readonly Action[]): Promise<void>;
  devtools(): Promise<CDPSession>;
}

/** One browser for many panels; a panel that a test opens is closed when that test ends. */
export interface Pages {
  open(options?: PanelOptions): Promise<Panel>;
  close(): Promise<void>;
}

/** Panels of the running test. Each test closes its panels, because open panels keep drawing and slow later tests. */
const contextsOfTest = new Set<BrowserContext>();
beforeEach(() => contextsOfTest.clear());
afterEach(async () => {
  await Promise.all([...contextsOfTest].map((context) => context.close()));
  contextsOfTest.clear();
});

/** Builds the webview and starts Chromium. */
export async function startPages(): Promise<Pages> {
  // The build may fail, so it comes first: a browser that is not closed would keep the test run alive.
  const files = await bundleWebview();
  const browser = await loadPlaywright().chromium.launch({
    executablePath: browserPath() ?? "chromium",
    args: ["--disable-gpu", "--disable-background-networking", "--no-first-run"],
    chromiumSandbox: false,
  });
  return {
    open: (options = {}) => openPanel(browser, files, options),
    close: () => browser.close(),
  };
}

async function openPanel(browser: Browser, files: Files, options: PanelOptions): Promise<Panel> {
  const context = await browser.newContext({
    viewport: { width: options.width ?? 400, height: options.height ?? 800 },
    deviceScaleFactor: options.scale ?? 1,
  });
  if (options.keepOpen !== true) contextsOfTest.add(context);
  const page = await context.newPage();
  const requests: string[] = [];
  const consoleErrors: string[] = [];
  page.on("pageerror", (error) => consoleErrors.push(String(error)));
  page.on("console", (message) => {
    if (["error", "warning"].includes(message.type())) consoleErrors.push(message.text());
  });
  await page.route("**/*", async (route) => {
    const { pathname, origin } = new URL(route.request().url());
    const file = files.get(pathname.slice(1));
    if (origin === ORIGIN && pathname === "/") {
      const headers = { "content-security-policy": POLICY };
      await route.fulfill({
        contentType: "text/html",
        headers,
        body: html(options.theme ?? "dark", options.language ?? "en"),
      });
    } else if (origin === ORIGIN && file !== undefined) {
      await route.fulfill({ contentType: mime(pathname), body: Buffer.from(file) });
    } else {
      requests.push(route.request().url());
      await route.abort();
    }
  });
  await page.exposeFunction("__colour", ({ code, language }: Extract<ToHost, { type: "colour" }>) =>
    kindsOf(code, language),
  );
  await page.addInitScript(fakeHost);
  if (options.clock === true) await page.clock.install();
  await page.goto(`${ORIGIN}/`);
  await applyTheme(page, options.theme ?? "dark");
  let revision = 0;
  const receive = (message: ToPanel): Promise<void> =>
    page.evaluate(async (sent) => {
      window.postMessage(sent, "*");
      // The panel pauses between drawings, for longer after a slow drawing.
      const begin = performance.now();
      let last = begin;
      let longest = 17;
      while (performance.now() - begin < Math.max(40, 3.5 * longest)) {
        await new Promise((next) => requestAnimationFrame(next));
        longest = Math.max(longest, performance.now() - last);
        last = performance.now();
      }
      await new Promise((next) => setTimeout(next, 0));
    }, message);
  return {
    page,
    requests,
    consoleErrors,
    posted: () => page.evaluate(drawnAndPosted),
    receive,
    show: (state, typed = "") => {
      revision = state.revision;
      return receive({ type: "snapshot", state, typed });
    },
    play: (actions) => {
      revision += actions.length;
      return receive({ type: "actions", actions, revision });
    },
    devtools: () => context.newCDPSession(page),
  };
}

/** Runs in the page before its scripts. */
function fakeHost(): void {
  const posted: unknown[] = [];
  Reflect.set(window, "__posted", posted);
  Reflect.set(window, "acquireVsCodeApi", () => ({
    postMessage: (message: { readonly type: string; readonly id?: string }) => {
      if (message.type !== "colour") posted.push(message);
      else
        Reflect.get(
          window,
          "__colour",
        )(message).then((coloured: unknown) =>
          window.postMessage({ type: "coloured", id: message.id, coloured }, "*"),
        );
    },
    getState: () => undefined,
    setState: () => undefined,
  }));
}

/** Runs in the page. Waits for two frames, because an effect posts its messages after its drawing. */
async function drawnAndPosted(): Promise<readonly ToHost[]> {
  for (let frame = 0; frame < 2; frame += 1) {
    await new Promise((next) => requestAnimationFrame(next));
    await new Promise((next) => setTimeout(next, 0));
  }
  return Reflect.get(window, "__posted");
}

interface Theme {
  readonly style: string;
  readonly body: string;
}

function theme(name: ThemeName): Theme {
  return JSON.parse(readFileSync(join(import.meta.dirname, "themes", `${name}.json`), "utf8"));
}

/** Applies a theme as VS Code does: variables on the root element, classes on the body. */
async function applyTheme(page: Page, name: ThemeName): Promise<void> {
  await page.evaluate(({ style, body }) => {
    // Sets one property at a time, because the page's policy forbids a style attribute.
    for (const one of style.split(/;\s*(?=--)/)) {
      const colon = one.indexOf(":");
      document.documentElement.style.setProperty(
        one.slice(0, colon),
        one
          .slice(colon + 1)
          .replace(/;$/, "")
          .trim(),
      );
    }
    document.body.className = body;
  }, theme(name));
  const background = name === "contrast-light" ? "#ffffff" : "var(--vscode-sideBar-background)";
  await page.evaluate((color) => {
    document.documentElement.style.background = color;
  }, background);
}

function html(name: ThemeName, language: string): string {
  return `<!doctype html><html lang="${language}"><head><meta charset="utf-8"><title>Indwell</title>
<link rel="stylesheet" href="/webview.css"></head><body data-theme="${name}"><div id="root"${languageOf(language)}></div>
<script nonce="${NONCE}" src="/webview.js"></script></body></html>`;
}

function languageOf(name: string): string {
  if (name === "en") return "";
  const path = join(EXTENSION, "l10n", `bundle.l10n.${name}.json`);
  const bundle: unknown = JSON.parse(readFileSync(path, "utf8"));
  const text = JSON.stringify({ name, bundle }).replaceAll("&", "&amp;").replaceAll('"', "&quot;");
  return ` data-language="${text}"`;
}

function mime(path: string): string {
  if (path.endsWith(".js")) return "text/javascript";
  return path.endsWith(".css") ? "text/css" : "font/ttf";
}
