/**
 * Excludes files from the list for `@`: generated files, and those that the editor's settings
 * exclude. Pure.
 */

/** Generated folders and files, which are excluded whatever the settings say. */
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
 * Returns one glob for `findFiles` from `files.exclude`, `search.exclude` and generated files.
 * Settings with a condition (`when`) and disabled settings are ignored. Settings with braces are
 * ignored, too, because groups of a glob cannot be nested.
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
