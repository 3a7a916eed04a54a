/** The commands that create a private environment. Pure. */
import { t } from "../../shared/l10n.ts";
import { pythonOf } from "./environment.ts";
import { OLDEST_MINOR, type Python } from "./python.ts";

/**
 * The tool that creates the environment. `uv` needs no Python of the system, because it can
 * download one.
 */
export type Tool =
  | { readonly kind: "uv"; readonly uv: string; readonly python: Python | undefined }
  | { readonly kind: "venv"; readonly python: Python };

/** The files to install, and the target. All paths are absolute. */
export interface Contents {
  readonly folder: string;
  readonly requirements: string;
  readonly wheel: string;
}

/** One program to run; the user sees `title` while the program runs. */
export interface Step {
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
