/**
 * Checks which files may be opened from the conversation: only existing files in an open folder.
 */
import { lstat, realpath, stat } from "node:fs/promises";
import { dirname, isAbsolute, join, relative, resolve, sep } from "node:path";

/**
 * Returns the real path of `path` in the first folder that contains it, or null if it is missing or
 * outside of all folders.
 */
export async function insideOf(path: string, folders: readonly string[]): Promise<string | null> {
  if (isRemote(path)) return null;
  for (const folder of folders) {
    const found = await within(isAbsolute(path) ? path : join(folder, path), folders);
    if (found !== null) return found;
    if (isAbsolute(path)) return null;
  }
  return null;
}

/**
 * Returns whether a path such as `\\host\share`, `//host/share` or `\\?\…` is remote. Even looking
 * up a remote path would tell another machine who the user is.
 */
export function isRemote(path: string): boolean {
  return /^[\\/]{2}/.test(path);
}

async function within(path: string, folders: readonly string[]): Promise<string | null> {
  try {
    const roots = await Promise.all(folders.map((folder) => realpath(folder)));
    // The path's text is checked first, so that a path that leads out of all folders is not looked
    // up.
    const whole = resolve(path);
    if (![...folders, ...roots].some((folder) => isBelow(folder, whole))) return null;
    const real = await realpath(whole);
    if (!roots.some((root) => isBelow(root, real))) return null;
    return (await stat(real)).isFile() ? real : null;
  } catch {
    return null; // The file is missing.
  }
}

/**
 * Returns the real path of a file that may be created, or null if the file exists, or if its folder
 * is not open.
 */
export async function newInside(path: string, folders: readonly string[]): Promise<string | null> {
  const [first] = folders;
  if (first === undefined || isRemote(path)) return null;
  try {
    const roots = await Promise.all(folders.map((folder) => realpath(folder)));
    const whole = resolve(isAbsolute(path) ? path : join(first, path));
    if (![...folders, ...roots].some((folder) => isBelow(folder, whole))) return null;
    if (await isThere(whole)) return null;
    let parent = dirname(whole);
    while (!(await isThere(parent))) parent = dirname(parent);
    const real = await realpath(parent);
    if (!roots.some((root) => real === root || isBelow(root, real))) return null;
    return join(real, relative(parent, whole));
  } catch {
    return null; // The folder cannot be read, or the link leads nowhere.
  }
}

async function isThere(path: string): Promise<boolean> {
  return lstat(path).then(
    () => true,
    (error: NodeJS.ErrnoException) => {
      if (error.code === "ENOENT") return false;
      throw error;
    },
  );
}

function isBelow(folder: string, path: string): boolean {
  const way = relative(folder, path);
  return way !== "" && way !== ".." && !way.startsWith(`..${sep}`) && !isAbsolute(way);
}
