/** The webview alone in Chromium, with a fake extension host: nothing of VS Code runs. */
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
/** The policy of the real page, with this origin in place of `webview.cspSource`. */
export const POLICY = `default-src 'none'; img-src data:; font-src ${ORIGIN}; style-src ${ORIGIN}; script-src 'nonce-${NONCE}'`;

export const THEMES = ["light", "dark", "contrast", "contrast-light"] as const;
export type ThemeName = (typeof THEMES)[number];

/** How the page is opened. Sizes in CSS pixels. */
export interface Opening {
  readonly theme?: ThemeName;
  readonly width?: number;
  readonly height?: number;
  /** Device pixels per CSS pixel. */
  readonly scale?: number;
  /** It stays open when a test ends: for tests that run side by side, or share it. */
  readonly stays?: boolean;
  /** Its time can be put forward by `page.clock`; it passes by itself, too. */
  readonly clock?: boolean;
  /** The language of the texts, as VS Code names it; English if it is not set. */
  readonly language?: string;
}

/** A panel in a page. */
export interface Panel {
  readonly page: Page;
  /** Addresses that the page asked for beyond its own three files. */
  readonly requests: readonly string[];
  /** Errors and warnings of its console, and exceptions. */
  readonly complaints: readonly string[];
  /** What the panel sent to its host until what happened so far was drawn, oldest first. */
  posted(): Promise<readonly ToHost[]>;
  /** A message of the host. */
  tell(message: ToPanel): Promise<void>;
  /** A whole state; resolves when it has been drawn. */
  show(state: PanelState, typed?: string): Promise<void>;
  /** Actions after a state that was shown by `show`; resolves when they have been drawn. */
  play(actions: readonly Action[]): Promise<void>;
  devtools(): Promise<CDPSession>;
}

/** One browser for many panels; a panel that a test opens is closed when that test ends. */
export interface Pages {
  open(opening?: Opening): Promise<Panel>;
  close(): Promise<void>;
}

/** Panels of the test that runs. An open panel draws on, so all of a spec together would slow each other down. */
const ofThisTest = new Set<BrowserContext>();
beforeEach(() => ofThisTest.clear());
afterEach(async () => {
  await Promise.all([...ofThisTest].map((context) => context.close()));
  ofThisTest.clear();
});

/** Start Chromium and build the webview. */
export async function startPages(): Promise<Pages> {
  // First what may fail: a browser that nobody closes would keep the test run alive.
  const files = await bundleWebview();
  const browser = await loadPlaywright().chromium.launch({
    executablePath: browserPath() ?? "chromium",
    args: ["--disable-gpu", "--disable-background-networking", "--no-first-run"],
    chromiumSandbox: false,
  });
  return {
    open: (opening = {}) => openPanel(browser, files, opening),
    close: () => browser.close(),
  };
}

async function openPanel(browser: Browser, files: Files, opening: Opening): Promise<Panel> {
  const context = await browser.newContext({
    viewport: { width: opening.width ?? 400, height: opening.height ?? 800 },
    deviceScaleFactor: opening.scale ?? 1,
  });
  if (opening.stays !== true) ofThisTest.add(context);
  const page = await context.newPage();
  const requests: string[] = [];
  const complaints: string[] = [];
  page.on("pageerror", (error) => complaints.push(String(error)));
  page.on("console", (message) => {
    if (["error", "warning"].includes(message.type())) complaints.push(message.text());
  });
  await page.route("**/*", async (route) => {
    const { pathname, origin } = new URL(route.request().url());
    const file = files.get(pathname.slice(1));
    if (origin === ORIGIN && pathname === "/") {
      const headers = { "content-security-policy": POLICY };
      await route.fulfill({
        contentType: "text/html",
        headers,
        body: html(opening.theme ?? "dark", opening.language ?? "en"),
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
  if (opening.clock === true) await page.clock.install();
  await page.goto(`${ORIGIN}/`);
  await applyTheme(page, opening.theme ?? "dark");
  let revision = 0;
  const tell = (message: ToPanel): Promise<void> =>
    page.evaluate(async (sent) => {
      window.postMessage(sent, "*");
      // The panel leaves a pause between drawings, longer after a slow one.
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
    complaints,
    posted: () => page.evaluate(drawnAndPosted),
    tell,
    show: (state, typed = "") => {
      revision = state.revision;
      return tell({ type: "snapshot", state, typed });
    },
    play: (actions) => {
      revision += actions.length;
      return tell({ type: "actions", actions, revision });
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

/** Runs in the page: what an effect posts is posted after the drawing that it belongs to. */
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

/** As VS Code does it: variables on the root element, classes on the body. */
async function applyTheme(page: Page, name: ThemeName): Promise<void> {
  await page.evaluate(({ style, body }) => {
    // Property by property, which no policy of the page forbids.
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
