/**
 * Finds the shipped server: a server with its own Python in a platform's package, and a wheel in
 * every package.
 */
import { createHash } from "node:crypto";
import { readdir, readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { environmentName, wheelVersion } from "./environment.ts";
import { type Running, runProgram } from "./run-program.ts";

const PROBE_MS = 20_000; // The first start may be on a slow disk, with a virus scanner.

/** A wheel and its requirements. */
export interface Bundle {
  /** The name of the environment in which the wheel is installed. */
  readonly name: string;
  readonly version: string;
  readonly wheel: string;
  readonly requirements: string;
}

/**
 * Returns the bundle in the extension's `folder`, or undefined in a checkout without a built
 * bundle.
 */
export async function findBundle(folder: string): Promise<Bundle | undefined> {
  const files = await readdir(folder).catch(() => []);
  const file = files.find((name) => wheelVersion(name) !== undefined);
  const version = file === undefined ? undefined : wheelVersion(file);
  if (file === undefined || version === undefined) return undefined;
  const wheel = join(folder, file);
  const requirements = join(folder, "requirements.txt");
  const hash = createHash("sha256");
  for (const path of [wheel, requirements]) hash.update(await readFile(path));
  return { name: environmentName(version, hash.digest("hex")), version, wheel, requirements };
}

/** Remembers between windows that a frozen server runs; a `Memento` of VS Code. */
export interface Proofs {
  get(key: string): unknown;
  update(key: string, value: unknown): PromiseLike<void>;
}

/**
 * Returns the frozen server (a server with its own Python) in the extension's `folder`, or
 * undefined in the universal package.
 */
export async function findFrozen(
  folder: string,
  platform: NodeJS.Platform,
): Promise<string | undefined> {
  const name = platform === "win32" ? "indwell-server.exe" : "indwell-server";
  const program = join(folder, "frozen", name);
  const found = await stat(program).catch(() => undefined);
  return found?.isFile() === true ? program : undefined;
}

/**
 * Returns the reason why the frozen server does not run on this machine, or empty if it does. The
 * check finds a package of the wrong platform and a C library that is too old. The check runs once
 * for each installed version, because it takes a tenth of a second.
 */
export async function whyFrozenFails(
  program: string,
  proofs: Proofs,
  how: Omit<Running, "timeoutMs">,
): Promise<string> {
  const key = "frozenServer";
  if (proofs.get(key) === program) return "";
  const ended = await runProgram(program, ["--version"], { ...how, timeoutMs: PROBE_MS });
  if (ended.code === 0 && ended.stdout.startsWith("indwell ")) {
    await proofs.update(key, program);
    return "";
  }
  const said = ended.stderr.trim().split(/\r?\n/).at(-1) ?? "";
  return said === "" ? `it ended with ${ended.code ?? "a signal"}` : said.slice(0, 300);
}
