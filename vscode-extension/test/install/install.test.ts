/**
 * Installs the server's private environment from the package index that pip or uv is configured for.
 *
 * `INDWELL_BUNDLE` names a folder with the wheel and its requirements, as in a package.
 */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { homedir, tmpdir } from "node:os";
import { join } from "node:path";
import { after, type TestContext, test } from "node:test";
import { type Bundle, findBundle } from "../../src/extension/server/install/bundle.ts";
import { MARK } from "../../src/extension/server/install/environment.ts";
import { install, installed, type Site } from "../../src/extension/server/install/install.ts";
import { findTools } from "../../src/extension/server/install/python.ts";

const BUNDLE = process.env["INDWELL_BUNDLE"] ?? "";
const ROOT = mkdtempSync(join(tmpdir(), "indwell-install-"));
after(() => rmSync(ROOT, { recursive: true, force: true }));

const env = Object.fromEntries(
  Object.entries(process.env).flatMap(([name, value]) =>
    value === undefined ? [] : [[name, value]],
  ),
);

function site(name: string, over: Partial<Site> = {}): Site {
  const folder = join(ROOT, name);
  mkdirSync(folder);
  return {
    folder,
    platform: process.platform,
    home: homedir(),
    env,
    signal: new AbortController().signal,
    step: () => {},
    log: () => {},
    ...over,
  };
}

/** Returns an environment with one Python and without uv. */
async function onlyPython(t: TestContext): Promise<Partial<Site> | undefined> {
  const running = { cwd: ROOT, env, signal: new AbortController().signal };
  const { python } = await findTools(process.platform, homedir(), running);
  if (python?.hasVenv !== true) {
    t.skip("no Python here makes virtual environments");
    return undefined;
  }
  const bin = join(ROOT, "bin");
  mkdirSync(bin);
  symlinkSync(python.executable, join(bin, "python3"));
  return { env: { ...env, PATH: bin }, home: ROOT };
}

async function bundle(): Promise<Bundle> {
  const found = await findBundle(BUNDLE);
  assert.ok(found !== undefined, "INDWELL_BUNDLE names no folder with a wheel");
  return found;
}

/** Checks that the environment is the only entry of its folder, runs, and is found again. */
async function assertInstalled(made: string, it: Bundle, where: Site): Promise<void> {
  assert.deepEqual(readdirSync(where.folder), [it.name]);
  const version = execFileSync(made, ["-I", "-m", "indwell", "--version"], { encoding: "utf8" });
  assert.ok(version.includes(it.version), version);
  assert.equal(await installed(it, where), made);
}

test("an installation that is stopped leaves nothing behind", async () => {
  const stop = new AbortController();
  const stopped = site("stopped", { signal: stop.signal, step: () => stop.abort() });
  await assert.rejects(install(await bundle(), stopped));
  assert.deepEqual(readdirSync(stopped.folder), []);
});

test("a package with a wrong hash is refused, and nothing is left behind", async () => {
  const wrong = join(ROOT, "wrong.txt");
  writeFileSync(wrong, `h11==0.16.0 --hash=sha256:${"0".repeat(64)}\n`);
  const where = site("wrong");
  const changed = { ...(await bundle()), requirements: wrong };
  await assert.rejects(install(changed, where), /could not be installed: .*hash/is);
  assert.deepEqual(readdirSync(where.folder), []);
});

test("uv installs the server, and an incomplete installation is repeated", async (t) => {
  const running = { cwd: ROOT, env, signal: new AbortController().signal };
  const { uv } = await findTools(process.platform, homedir(), running);
  if (uv === undefined) return t.skip("uv is not installed; pip has its own test");
  const it = await bundle();
  const where = site("uv");
  await assertInstalled(await install(it, where), it, where);
  rmSync(join(where.folder, it.name, MARK));
  assert.equal(await installed(it, where), undefined);
  await assertInstalled(await install(it, where), it, where);
});

test("venv and pip install the server without uv", async (t) => {
  const over = await onlyPython(t);
  if (over === undefined) return;
  const it = await bundle();
  const where = site("pip", over);
  await assertInstalled(await install(it, where), it, where);
});
