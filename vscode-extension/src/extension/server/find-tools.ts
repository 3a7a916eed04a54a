/** Looks for Python and uv on this machine. */
import { accessSync, constants } from "node:fs";
import { join } from "node:path";
import { candidates, choosePython, PROBE, type Python, parsePython, searchPath } from "./python.ts";
import { type Running, runProgram } from "./run-program.ts";

const PROBE_MS = 10_000;

/** The tools that were found. */
export interface Found {
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
