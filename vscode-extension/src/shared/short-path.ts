/** Shortens a path for a chip. Pure. */

/**
 * Returns the last name of a path, with its lines: `src/shop/invoice.py:41-58` becomes
 * `invoice.py:41-58`, and `src/shop/invoice.py:41-41` becomes `invoice.py:41`.
 */
export function baseName(label: string): string {
  const isFolder = label.endsWith("/");
  const names = label.split("/").filter((name) => name !== "");
  return isFolder ? `${names.at(-1) ?? ""}/` : (names.at(-1) ?? label).replace(/:(\d+)-\1$/, ":$1");
}
