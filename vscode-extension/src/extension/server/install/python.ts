/**
 * Finds Python and uv on this machine, and chooses the Python for the server by what each candidate
 * prints.
 */
import { accessSync, constants } from "node:fs";
import { join, posix, win32 } from "node:path";
import { type Running, runProgram } from "./run-program.ts";

/**
 * The oldest minor version of Python 3 that the server supports (`requires-python` of
 * pyproject.toml).
 */
export const OLDEST_MINOR = 11;

/** The minor versions for which all pinned packages have wheels; newer versions are tried last. */
const PROVEN_MINORS: readonly number[] = [13, 12, 11];

/** A program with the arguments that select a Python (`py -3.12`). */
interface Candidate {
  readonly command: string;
  readonly args: readonly string[];
}

/** The properties that a Python reports. */
export interface Python {
  /** The absolute path of the interpreter. */
  readonly executable: string;
  readonly major: number;
  readonly minor: number;
  /** Whether the Python has the modules for `python -m venv`, which Debian packages separately. */
  readonly hasVenv: boolean;
}

/**
 * Arguments that make a Python print the text that `parsePython` reads; nothing of the current
 * folder is imported (`-I`).
 */
const PROBE: readonly string[] = [
  "-I",
  "-c",
  "import sys, json, importlib.util as u; print(json.dumps([sys.executable, *sys.version_info[:2], " +
    "all(u.find_spec(n) for n in ('venv', 'ensurepip'))]))",
];

/** Returns programs that may be a Python, in no particular order. */
export function candidates(platform: NodeJS.Platform): readonly Candidate[] {
  const plain = ["python3", "python"].map((command) => ({ command, args: [] }));
  if (platform === "win32") {
    const launched = PROVEN_MINORS.map((minor) => ({ command: "py", args: [`-3.${minor}`] }));
    return [{ command: "py", args: ["-3"] }, ...launched, ...plain];
  }
  const named = PROVEN_MINORS.map((minor) => ({ command: `python3.${minor}`, args: [] }));
  return [...plain, ...named];
}

/**
 * Parses the output of `PROBE`; returns undefined for other output, such as that of a Microsoft
 * Store stub.
 */
export function parsePython(stdout: string): Python | undefined {
  let said: unknown;
  try {
    said = JSON.parse(stdout);
  } catch {
    return undefined;
  }
  if (!Array.isArray(said)) return undefined;
  const [executable, major, minor, hasVenv]: readonly unknown[] = said;
  if (typeof executable !== "string" || executable === "") return undefined;
  if (typeof major !== "number" || typeof minor !== "number") return undefined;
  return { executable, major, minor, hasVenv: hasVenv === true };
}

/** Returns whether a Python is new enough for the server. */
function isNewEnough(python: Python): boolean {
  return python.major === 3 && python.minor >= OLDEST_MINOR;
}

/**
 * Returns the best Python that is new enough: tested versions first, and those with `venv` before
 * those without.
 */
export function choosePython(found: readonly Python[]): Python | undefined {
  const rank = (python: Python): number => {
    const proven = PROVEN_MINORS.indexOf(python.minor);
    const age = proven === -1 ? PROVEN_MINORS.length + python.minor : proven;
    return age + (python.hasVenv ? 0 : 1000);
  };
  return found.filter(isNewEnough).sort((one, other) => rank(one) - rank(other))[0];
}

/**
 * Returns folders to search for programs: those of PATH, and those in which installers put uv and
 * Python. If an editor was started from the desktop, the folders of installers may be missing in
 * its PATH.
 */
export function searchPath(
  path: string,
  home: string,
  platform: NodeJS.Platform,
): readonly string[] {
  const { delimiter, join, isAbsolute } = platform === "win32" ? win32 : posix;
  const named = path.split(delimiter).filter((folder) => isAbsolute(folder));
  const usual = [join(home, ".local", "bin"), join(home, ".cargo", "bin")];
  const system = platform === "win32" ? [] : ["/usr/local/bin", "/opt/homebrew/bin"];
  return [...new Set([...named, ...usual, ...system])];
}

const PROBE_MS = 10_000;

/** The tools that were found. */
interface Found {
  readonly uv: string | undefined;
  readonly python: Python | undefined;
}

/** Starts every candidate once, in parallel; takes some tenths of a second. `home` is the user's home folder. */
export async function findTools(
  platform: NodeJS.Platform,
  home: string,
  how: Omit<Running, "timeoutMs">,
): Promise<Found> {
  const folders = searchPath(how.env.PATH ?? how.env.Path ?? "", home, platform);
  const running: Running = { ...how, timeoutMs: PROBE_MS };
  const asked = candidates(platform).map(async ({ command, args }) => {
    const program = programIn(folders, command, platform);
    if (program === undefined) return [];
    const said = await runProgram(program, [...args, ...PROBE], running);
    return said.code === 0 ? [parsePython(said.stdout)] : [];
  });
  const pythons = (await Promise.all(asked)).flat().filter((python) => python !== undefined);
  return { uv: await workingUv(folders, platform, running), python: choosePython(pythons) };
}

async function workingUv(
  folders: readonly string[],
  platform: NodeJS.Platform,
  running: Running,
): Promise<string | undefined> {
  const uv = programIn(folders, "uv", platform);
  if (uv === undefined) return undefined;
  return (await runProgram(uv, ["--version"], running)).code === 0 ? uv : undefined;
}

function programIn(
  folders: readonly string[],
  name: string,
  platform: NodeJS.Platform,
): string | undefined {
  const file = platform === "win32" ? `${name}.exe` : name;
  return folders.map((folder) => join(folder, file)).find(isProgram);
}

function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
