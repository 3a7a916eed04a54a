/**
 * Makes the private environment for real, from the registry that pip or uv is set up for.
 *
 * `INDWELL_BUNDLE` names a folder with the wheel and its requirements, as a package has it.
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
const WHOLE = mkdtempSync(join(tmpdir(), "indwell-install-"));
after(() => rmSync(WHOLE, { recursive: true, force: true }));

const env = Object.fromEntries(
  Object.entries(process.env).flatMap(([name, value]) =>
    value === undefined ? [] : [[name, value]],
  ),
);

function site(name: string, over: Partial<Site> = {}): Site {
  const folder = join(WHOLE, name);
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

/** Variables that show one Python and no uv. */
async function onlyPython(t: TestContext): Promise<Partial<Site> | undefined> {
  const running = { cwd: WHOLE, env, signal: new AbortController().signal };
  const { python } = await findTools(process.platform, homedir(), running);
  if (python?.hasVenv !== true) {
    t.skip("no Python here makes virtual environments");
    return undefined;
  }
  const bin = join(WHOLE, "bin");
  mkdirSync(bin);
  symlinkSync(python.executable, join(bin, "python3"));
  return { env: { ...env, PATH: bin }, home: WHOLE };
}

async function bundle(): Promise<Bundle> {
  const found = await findBundle(BUNDLE);
  assert.ok(found !== undefined, "INDWELL_BUNDLE names no folder with a wheel");
  return found;
}

/** It stands there alone, runs, and is found again. */
async function isWhole(made: string, it: Bundle, where: Site): Promise<void> {
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

test("a package with another hash than the pinned one is refused, and nothing is left", async () => {
  const wrong = join(WHOLE, "wrong.txt");
  writeFileSync(wrong, `h11==0.16.0 --hash=sha256:${"0".repeat(64)}\n`);
  const where = site("wrong");
  const changed = { ...(await bundle()), requirements: wrong };
  await assert.rejects(install(changed, where), /could not be installed: .*hash/is);
  assert.deepEqual(readdirSync(where.folder), []);
});

test("uv installs the server whole, and a torn installation is made anew", async (t) => {
  const running = { cwd: WHOLE, env, signal: new AbortController().signal };
  const { uv } = await findTools(process.platform, homedir(), running);
  if (uv === undefined) return t.skip("no uv here; pip has a test of its own");
  const it = await bundle();
  const where = site("uv");
  await isWhole(await install(it, where), it, where);
  rmSync(join(where.folder, it.name, MARK));
  assert.equal(await installed(it, where), undefined);
  await isWhole(await install(it, where), it, where);
});

test("without uv, venv and pip install the same", async (t) => {
  const over = await onlyPython(t);
  if (over === undefined) return;
  const it = await bundle();
  const where = site("pip", over);
  await isWhole(await install(it, where), it, where);
});
