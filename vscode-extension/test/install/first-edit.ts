/**
 * Counts clicks, pastes, seconds and installed packages from the installation to the first edit, in the real workbench.
 *
 *     node test/install/first-edit.ts ../dist/indwell-linux-x64-0.1.0.vsix
 *
 * The user has an empty home folder, and a model server that runs on this machine. VS Code asks for its own trust.
 */
import { spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readdirSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import type { Locator } from "playwright-core";
import { startModel } from "../editor/model.ts";
import { serverMain } from "../editor/packages.ts";
import { SHOP } from "../editor/shop-files.ts";
import { until } from "../editor/waiting.ts";
import { openWindow } from "../editor/window.ts";
import { startWorkbench } from "../editor/workbench.ts";

const LONG_MS = 300_000; // the universal package installs a Python environment

const file = process.argv[2];
const main = serverMain();
if (file === undefined) throw new Error("name the .vsix file");
if (main === undefined) throw new Error("VS Code's server is not installed: test/editor/install");

const clicks: string[] = [];
const seconds = (since: number): number => Math.round((Date.now() - since) / 100) / 10;
const click = async (name: string, what: Locator): Promise<void> => {
  await what.click({ timeout: LONG_MS });
  clicks.push(name);
};

const place = mkdtempSync(join(tmpdir(), "indwell-first-edit-"));
const began = Date.now();
const installing = spawnSync(
  process.execPath,
  [
    main,
    "--install-extension",
    resolve(file),
    "--extensions-dir",
    join(place, "extensions"),
  ].concat(
    ["--user-data-dir", join(place, "data"), "--server-data-dir", join(place, "server")],
    ["--accept-server-license-terms"],
  ),
  { encoding: "utf8", env: { ...process.env, EXTENSIONS_GALLERY: '{"serviceUrl":""}' } },
);
const installS = seconds(began);
const name = readdirSync(join(place, "extensions")).find((one) => one.startsWith("indwell."));
if (name === undefined) throw new Error(`${installing.stdout}${installing.stderr}`);

process.env["INDWELL_EXTENSION"] = join(place, "extensions", name);
const model = await startModel();
process.env["OLLAMA_HOST"] = `127.0.0.1:${model.port}`;
const workbench = await startWorkbench();
try {
  const window = await openWindow(workbench, {
    name: "first-edit",
    files: SHOP,
    settings: {
      "indwell.serverPath": "",
      "security.workspace.trust.enabled": true,
      "security.workspace.trust.startupPrompt": "always",
    },
  });
  const { page, panel, folder } = window;
  const opened = Date.now();
  const trust = page.getByRole("button", { name: /^Yes, I trust/ });
  if (
    await trust.waitFor({ timeout: 15_000 }).then(
      () => true,
      () => false,
    )
  )
    await click("VS Code: Yes, I trust the authors", trust);
  const looked = Date.now();
  await click("the Indwell view", page.locator('.activitybar [aria-label^="Indwell"]').first());
  const connect = panel.getByRole("button", { name: "Connect a model", exact: true });
  await connect.waitFor({ timeout: LONG_MS });
  const serverS = seconds(looked);
  await click("Use MODEL", panel.getByRole("button", { name: /^Use coder/ }));
  const composer = panel.getByLabel("Prompt", { exact: true });
  const goOn = panel.getByRole("button", { name: /^Go on with/ });
  await composer.or(goOn).first().waitFor({ timeout: LONG_MS });
  if (await goOn.isVisible()) await click("Go on", goOn);
  await composer.waitFor({ timeout: LONG_MS });
  await until("the prompt to be sent", async () => {
    await composer.fill("write made.txt");
    await composer.press("Enter");
    return (await composer.inputValue()) === "";
  });
  const made = join(folder, "made.txt");
  const own = page.getByRole("button", { name: /^Trust this folder/ });
  await until("the first edit", async () => {
    if (await own.isVisible()) await click("Indwell: Trust this folder", own);
    return existsSync(made);
  });
  const storage = join(workbench.place.userData, "User", "globalStorage", "indwell.indwell");
  const environments = existsSync(storage)
    ? readdirSync(storage).filter((one) => one.startsWith("server-"))
    : [];
  const report = {
    package: file,
    packageMB: Math.round(statSync(resolve(file)).size / 1e5) / 10,
    installS,
    serverS,
    firstEditS: seconds(opened),
    clicks,
    pastes: 0,
    environmentsInstalled: environments.length,
  };
  process.stdout.write(`${JSON.stringify(report, undefined, 2)}\n`);
} catch (error) {
  const pages = workbench.context.pages();
  await pages[0]?.screenshot({ path: join(tmpdir(), "indwell-first-edit.png") });
  throw error;
} finally {
  await workbench.close();
  await model.close();
  rmSync(place, { recursive: true, force: true });
}
