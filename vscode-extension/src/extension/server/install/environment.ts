/**
 * Manages the private environments of the server: names, programs, and which environments are
 * unused. Pure.
 */
import { posix, win32 } from "node:path";

/**
 * Milliseconds after which an environment that no window starts is removed. Right after an update,
 * another window may still run the older server.
 */
const OUT_OF_USE_MS = 24 * 60 * 60 * 1000;

const MADE = /^server-[\w.+-]+-[0-9a-f]{12}$/;
const UNFINISHED = /^making-server-[\w.+-]+$/;

/**
 * The file that is written last into an environment; an environment without the file is incomplete.
 */
export const MARK = "complete.json";

/**
 * Returns a name for an environment with this wheel and these requirements; `digest` is SHA-256 in
 * hex.
 */
export function environmentName(version: string, digest: string): string {
  return `server-${version.replace(/[^\w.+-]/g, "_")}-${digest.slice(0, 12)}`;
}

/**
 * Returns the name of the folder in which an environment is created; `unique` keeps windows apart.
 */
export function unfinishedName(name: string, unique: string): string {
  return `making-${name}-${unique}`;
}

/** Returns the interpreter of a virtual environment. */
export function pythonOf(folder: string, platform: NodeJS.Platform): string {
  return platform === "win32"
    ? win32.join(folder, "Scripts", "python.exe")
    : posix.join(folder, "bin", "python");
}

/** A folder beside the environment: its name, and when it was last started or changed. */
export interface Entry {
  readonly name: string;
  /** The time of the last use, in milliseconds since the epoch. */
  readonly used: number;
}

/**
 * Returns the names of the folders to remove: environments of other versions, and unfinished ones.
 */
export function outOfUse(
  entries: readonly Entry[],
  current: string,
  now: number,
): readonly string[] {
  return entries
    .filter(({ name }) => name !== current && (MADE.test(name) || UNFINISHED.test(name)))
    .filter(({ used }) => now - used > OUT_OF_USE_MS)
    .map(({ name }) => name);
}

/** Returns the version in a wheel's file name, or undefined if it is not Indwell's wheel. */
export function wheelVersion(fileName: string): string | undefined {
  return /^indwell-([^-]+)-py3-none-any\.whl$/.exec(fileName)?.[1];
}
