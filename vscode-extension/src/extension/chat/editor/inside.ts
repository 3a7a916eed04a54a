/** Checks which files may be opened from the conversation: existing ones in an open folder. */
import { realpath, stat } from "node:fs/promises";
import { isAbsolute, join, relative, resolve, sep } from "node:path";

/** The real path of `path` (in the first folder that contains it); null if it is missing or outside of all folders. */
export async function insideOf(path: string, folders: readonly string[]): Promise<string | null> {
  if (isRemote(path)) return null;
  for (const folder of folders) {
    const found = await within(isAbsolute(path) ? path : join(folder, path), folders);
    if (found !== null) return found;
    if (isAbsolute(path)) return null;
  }
  return null;
}

/** `\\host\share`, `//host/share`, `\\?\…`: even looking for it tells another machine who the user is. */
export function isRemote(path: string): boolean {
  return /^[\\/]{2}/.test(path);
}

async function within(path: string, folders: readonly string[]): Promise<string | null> {
  try {
    const roots = await Promise.all(folders.map((folder) => realpath(folder)));
    // First by its text: a path that leads out of all folders is not looked up.
    const whole = resolve(path);
    if (![...folders, ...roots].some((folder) => isBelow(folder, whole))) return null;
    const real = await realpath(whole);
    if (!roots.some((root) => isBelow(root, real))) return null;
    return (await stat(real)).isFile() ? real : null;
  } catch {
    return null; // missing
  }
}

function isBelow(folder: string, path: string): boolean {
  const way = relative(folder, path);
  return way !== "" && way !== ".." && !way.startsWith(`..${sep}`) && !isAbsolute(way);
}
