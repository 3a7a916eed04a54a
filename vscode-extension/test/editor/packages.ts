/** Finds the programs that the tests need: VS Code's server, Playwright, axe and Chromium. */
import { existsSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { delimiter, dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import type playwright from "playwright-core";

const HERE = dirname(fileURLToPath(import.meta.url));

/** The folder of the extension. */
export const EXTENSION = resolve(HERE, "..", "..");

/** The folder of the whole repository. */
export const REPOSITORY = resolve(EXTENSION, "..");

/** Folders that may contain packages; with the variable, several checkouts can share one installation. */
const FOLDERS: readonly string[] = [
  ...(process.env["INDWELL_VSCODE_TEST_MODULES"] ?? "")
    .split(delimiter)
    .filter((folder) => folder !== ""),
  join(HERE, "node_modules"),
  join(EXTENSION, "node_modules"),
];

/** The main script of VS Code's server. */
export function serverMain(): string | undefined {
  return FOLDERS.map((folder) =>
    join(folder, "code-server", "lib", "vscode", "out", "server-main.js"),
  ).find((path) => existsSync(path) && existsSync(join(dirname(path), "..", "node_modules")));
}

/** Playwright without its browsers. */
export function loadPlaywright(): typeof playwright {
  const loaded: typeof playwright = createRequire(
    join(packageFolder("playwright-core"), "package.json"),
  )("playwright-core");
  return loaded;
}

/** The script of axe, to be run inside a page. */
export function axeScript(): string {
  return readFileSync(join(packageFolder("axe-core"), "axe.min.js"), "utf8");
}

/** Chromium or a browser built from it. */
export function browserPath(): string | undefined {
  const named = process.env["INDWELL_CHROMIUM"];
  if (named !== undefined) return named;
  const folders = (process.env["PATH"] ?? "").split(delimiter);
  return ["chromium", "chromium-browser", "google-chrome"]
    .flatMap((name) => folders.map((folder) => join(folder, name)))
    .find((path) => existsSync(path));
}

/** The command `indwell` from the repository's environment. */
export function indwellPath(): string {
  return join(REPOSITORY, ".venv", "bin", "indwell");
}

/** Returns a sentence that names what the tests in test/browser lack, or undefined. */
export function whatThePanelLacks(): string | undefined {
  if (findPackage("playwright-core") === undefined || findPackage("axe-core") === undefined)
    return "the extension's packages are not installed: scripts/setup";
  if (browserPath() === undefined) return "Chromium is not installed";
  return undefined;
}

/** Returns a sentence that names what the tests in VS Code lack, or undefined. */
export function whatIsMissing(): string | undefined {
  if (serverMain() === undefined)
    return "VS Code's server is not installed: vscode-extension/test/editor/install";
  if (!existsSync(indwellPath())) return "the server is not installed: scripts/setup";
  return whatThePanelLacks();
}

function packageFolder(name: string): string {
  const found = findPackage(name);
  if (found === undefined)
    throw new Error(`${name} is not installed: vscode-extension/test/editor/install`);
  return found;
}

function findPackage(name: string): string | undefined {
  return FOLDERS.map((folder) => join(folder, name)).find((path) => existsSync(path));
}
