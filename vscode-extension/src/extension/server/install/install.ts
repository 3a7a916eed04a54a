/** Creates the private environment of the server, completely or not at all. */
import { randomBytes } from "node:crypto";
import { existsSync } from "node:fs";
import { mkdir, readdir, readFile, rename, rm, stat, utimes, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { t } from "../../../shared/l10n.ts";
import { CannotStart } from "../life.ts";
import type { Bundle } from "./bundle.ts";
import { MARK, outOfUse, pythonOf, unfinishedName } from "./environment.ts";
import { findTools, OLDEST_MINOR, type Python } from "./python.ts";
import { runProgram } from "./run-program.ts";

/**
 * The tool that creates the environment. `uv` needs no Python of the system, because it can
 * download one.
 */
type Tool =
  | { readonly kind: "uv"; readonly uv: string; readonly python: Python | undefined }
  | { readonly kind: "venv"; readonly python: Python };

/** The files to install, and the target. All paths are absolute. */
interface Contents {
  readonly folder: string;
  readonly requirements: string;
  readonly wheel: string;
}

/** One program to run; the user sees `title` while the program runs. */
interface Step {
  readonly title: string;
  readonly command: string;
  readonly args: readonly string[];
}

/** Returns the tools to try, best first. */
export function toolsFor(uv: string | undefined, python: Python | undefined): readonly Tool[] {
  const withUv: readonly Tool[] = uv === undefined ? [] : [{ kind: "uv", uv, python }];
  const withVenv: readonly Tool[] = python?.hasVenv === true ? [{ kind: "venv", python }] : [];
  return [...withUv, ...withVenv];
}

/**
 * Returns the reason why no tool was found, and the remedy, as one or two sentences for the user.
 */
export function whyNone(python: Python | undefined, platform: NodeJS.Platform): string {
  if (python === undefined) {
    return t("Python 3.{0} or newer was not found. Install it, or uv, and retry.", OLDEST_MINOR);
  }
  return platform === "linux"
    ? t(
        "{0} cannot make virtual environments (on Debian and Ubuntu: apt-get install python3-venv). Install what it needs, or uv, and retry.",
        python.executable,
      )
    : t(
        "{0} cannot make virtual environments. Install what it needs, or uv, and retry.",
        python.executable,
      );
}

/**
 * Returns the steps of the installation in order. Packages are pinned with hashes, and only wheels
 * are installed, so that no code of a package runs during the installation.
 */
export function installSteps(
  tool: Tool,
  contents: Contents,
  platform: NodeJS.Platform,
): readonly Step[] {
  const { folder, requirements, wheel } = contents;
  const inside = pythonOf(folder, platform);
  const pinned = ["--require-hashes", "--only-binary", ":all:", "-r", requirements];
  const own = ["--no-deps", "--no-index", wheel];
  const pip = (args: readonly string[]): Pick<Step, "command" | "args"> => {
    switch (tool.kind) {
      case "uv":
        return {
          command: tool.uv,
          args: ["pip", "install", "--quiet", "--python", inside, ...args],
        };
      case "venv": {
        const quiet = ["--disable-pip-version-check", "--no-input", "--quiet"];
        // The installation compiles no modules, because most are never imported; Python compiles
        // the others at the first run.
        const install = ["install", "--no-compile"];
        return { command: inside, args: ["-I", "-m", "pip", ...quiet, ...install, ...args] };
      }
    }
  };
  return [
    { title: t("Making a private environment"), ...make(tool, folder) },
    { title: t("Installing the packages it needs"), ...pip(pinned) },
    { title: t("Installing the server"), ...pip(own) },
    {
      title: t("Trying the server"),
      command: inside,
      args: ["-I", "-c", "import indwell.cli; print(indwell.__version__)"],
    },
  ];
}

function make(tool: Tool, folder: string): Pick<Step, "command" | "args"> {
  switch (tool.kind) {
    case "uv": {
      const python = tool.python?.executable ?? `>=3.${OLDEST_MINOR}`;
      return {
        command: tool.uv,
        args: ["venv", "--quiet", "--no-project", "--python", python, folder],
      };
    }
    case "venv":
      return { command: tool.python.executable, args: ["-I", "-m", "venv", folder] };
  }
}

const STEP_MS = 15 * 60 * 1000; // A connection may be slow, and there are 40 packages.

/** The folders of the installation, and the listener for its progress. */
export interface Site {
  /** The extension's own storage, which contains the environments and in which programs run. */
  readonly folder: string;
  readonly platform: NodeJS.Platform;
  /** The user's home, where installers put programs. */
  readonly home: string;
  readonly env: Readonly<Record<string, string>>;
  readonly signal: AbortSignal;
  readonly step: (sentence: string) => void;
  readonly log: (line: string) => void;
}

/**
 * Returns the interpreter of the environment for `bundle`, if the environment is complete; records
 * its use.
 */
export async function installed(
  bundle: Bundle,
  site: Pick<Site, "folder" | "platform">,
): Promise<string | undefined> {
  const folder = join(site.folder, bundle.name);
  const mark = join(folder, MARK);
  const python = pythonOf(folder, site.platform);
  // The interpreter is a link to the system's interpreter, which may be missing after an upgrade.
  if (!existsSync(mark) || !existsSync(python)) return undefined;
  const now = new Date();
  await utimes(mark, now, now).catch(() => {});
  return python;
}

/** Creates the environment and returns its interpreter. Rejects with `CannotStart`, with a message for the user. */
export async function install(bundle: Bundle, site: Site): Promise<string> {
  const { platform, env, signal } = site;
  await mkdir(site.folder, { recursive: true });
  site.step(t("Looking for Python"));
  const found = await findTools(platform, site.home, { cwd: site.folder, env, signal });
  const tools = toolsFor(found.uv, found.python);
  if (tools.length === 0) throw new CannotStart(whyNone(found.python, platform));
  let reason = "";
  for (const tool of tools) {
    reason = await tryWith(tool, bundle, site);
    if (reason === "") return pythonOf(join(site.folder, bundle.name), platform);
    if (signal.aborted) throw new CannotStart(t("Installing the server was stopped."));
  }
  throw new CannotStart(t("The server could not be installed: {0}", reason));
}

/**
 * Creates an environment with one tool; returns a sentence on why that failed, or an empty text.
 */
async function tryWith(tool: Tool, bundle: Bundle, site: Site): Promise<string> {
  const unfinished = join(site.folder, unfinishedName(bundle.name, randomBytes(4).toString("hex")));
  const contents = { ...bundle, folder: unfinished };
  try {
    for (const step of installSteps(tool, contents, site.platform)) {
      site.step(step.title);
      site.log(`${step.title}: ${[step.command, ...step.args].join(" ")}`);
      const running = { cwd: site.folder, env: site.env, signal: site.signal, timeoutMs: STEP_MS };
      const ended = await runProgram(step.command, step.args, running);
      const said = `${ended.stdout}${ended.stderr}`.trim();
      if (said !== "") site.log(said);
      if (ended.code !== 0) return t("{0} failed. {1}", step.title, lastLine(ended.stderr)).trim();
    }
    const mark = { version: bundle.version, tool: tool.kind, python: tool.python?.executable };
    await writeFile(join(unfinished, MARK), JSON.stringify(mark));
    await moveInto(unfinished, join(site.folder, bundle.name), site.platform);
    return "";
  } finally {
    await rm(unfinished, { recursive: true, force: true });
  }
}

/**
 * Moves the environment to its final name by one rename; if another window was faster, its
 * environment is used.
 */
async function moveInto(
  unfinished: string,
  target: string,
  platform: NodeJS.Platform,
): Promise<void> {
  if (existsSync(join(target, MARK)) && existsSync(pythonOf(target, platform))) return;
  // The environment of this name is incomplete, or its Python is gone.
  await rm(target, { recursive: true, force: true });
  try {
    await rename(unfinished, target);
  } catch (error) {
    if (!existsSync(join(target, MARK))) throw error;
  }
}

/** Removes unused environments; never rejects. */
export async function tidy(folder: string, current: string, now: number): Promise<void> {
  const names = await readdir(folder).catch(() => []);
  const entries = await Promise.all(names.map(async (name) => ({ name, used: await used(name) })));
  for (const name of outOfUse(entries, current, now)) {
    await rm(join(folder, name), { recursive: true, force: true }).catch(() => {});
  }

  async function used(name: string): Promise<number> {
    const marked = await stat(join(folder, name, MARK)).catch(() => undefined);
    return (marked ?? (await stat(join(folder, name)).catch(() => undefined)))?.mtimeMs ?? now;
  }
}

/** Returns the tool that created the environment, for the log. */
export async function madeWith(folder: string): Promise<string> {
  return readFile(join(folder, MARK), "utf8").catch(() => "");
}

function lastLine(text: string): string {
  const lines = text.trim().split(/\r?\n/);
  const last = lines.findLast((line) => /error|cause|fail|not found/i.test(line)) ?? lines.at(-1);
  return (last ?? "").trim().slice(0, 300);
}
