/** Lists the folders of a list of files. Pure. */

/**
 * Returns every folder above a file once, with a final `/`; shorter paths come first. Files outside
 * the first folder have absolute paths. `others` are the absolute paths of the other folders;
 * folders above these are not in the workspace.
 */
export function foldersOf(
  paths: readonly string[],
  others: readonly string[] = [],
): readonly string[] {
  const roots = others.map((root) => (root.endsWith("/") ? root : `${root}/`));
  const isInside = (folder: string): boolean =>
    !folder.startsWith("/") || roots.some((root) => folder.startsWith(root));
  const found = new Set<string>();
  for (const path of paths) {
    for (let end = path.lastIndexOf("/"); end > 0; end = path.lastIndexOf("/", end - 1)) {
      const folder = path.slice(0, end + 1);
      if (found.has(folder) || !isInside(folder)) break;
      found.add(folder);
    }
  }
  return [...found].sort((one, other) => parts(one) - parts(other) || (one < other ? -1 : 1));
}

function parts(path: string): number {
  return path.split("/").length;
}
