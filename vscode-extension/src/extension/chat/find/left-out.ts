/** What `@` does not offer: what tools make, and what the editor's settings leave out. Pure. */

/** Folders and files that are made, whatever the settings say. */
const MADE = [
  "**/.git/**",
  "**/.venv/**",
  "**/__pycache__/**",
  "**/node_modules/**",
  "**/.mypy_cache/**",
  "**/.pytest_cache/**",
  "**/.ruff_cache/**",
  "**/*.pyc",
  "**/.DS_Store",
];

/**
 * One glob for `findFiles`, of `files.exclude` and `search.exclude` and what tools make. Settings
 * that hold only beside another file (`when`) or that are off count for nothing, and neither do
 * those with braces, as groups of a glob cannot stand inside of each other.
 */
export function leftOut(...settings: readonly unknown[]): string {
  const globs = new Set(MADE);
  for (const setting of settings) {
    if (typeof setting !== "object" || setting === null) continue;
    for (const [glob, value] of Object.entries(setting)) {
      if (value !== true || /[{},]/.test(glob)) continue;
      globs.add(glob);
      if (!glob.endsWith("*")) globs.add(`${glob.replace(/\/$/, "")}/**`);
    }
  }
  return `{${[...globs].join(",")}}`;
}
