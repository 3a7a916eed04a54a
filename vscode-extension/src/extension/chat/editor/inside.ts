/** Which files may be opened from the conversation: real ones, inside of an open folder. */
import { realpath, stat } from "node:fs/promises";
import { isAbsolute, join, relative, resolve, sep } from "node:path";

/** The real path of `path` (of the first folder that has it); null if it leads out of all folders, or nowhere. */
export async function insideOf(path: string, folders: readonly string[]): Promise<string | null> {
  if (isRemote(path)) return null;
  for (const folder of folders) {
    const found = await within(isAbsolute(path) ? path : join(folder, path), folders);
    if (found !== null) return found;
    if (isAbsolute(path)) return null;
  }
  return null;
}

/** `\\host\share`, `//host/share`, `\\?\…`: merely to look for it tells another machine who asks. */
export function isRemote(path: string): boolean {
  return /^[\\/]{2}/.test(path);
}

async function within(path: string, folders: readonly string[]): Promise<string | null> {
  try {
    const roots = await Promise.all(folders.map((folder) => realpath(folder)));
    // By its words first: what leads out of all folders is not even looked for.
    const whole = resolve(path);
    if (![...folders, ...roots].some((folder) => isBelow(folder, whole))) return null;
    const real = await realpath(whole);
    if (!roots.some((root) => isBelow(root, real))) return null;
    return (await stat(real)).isFile() ? real : null;
  } catch {
    return null; // not there
  }
}

function isBelow(folder: string, path: string): boolean {
  const way = relative(folder, path);
  return way !== "" && way !== ".." && !way.startsWith(`..${sep}`) && !isAbsolute(way);
}
