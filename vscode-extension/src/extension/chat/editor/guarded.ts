/** Places that code of the conversation is never applied to: programs run or obey what stands there. Pure. */

/** Folders, wherever they stand in a path. */
const FOLDERS = new Set([
  ...[".vscode", ".git", ".indwell", ".devcontainer", ".husky", ".idea", ".ssh", ".cursor"],
  ...[".claude", ".codex", ".zed", ".yarn", ".cargo", ".mvn", ".helix", ".mise"],
]);

/** Files by their name: what shells, git, editors and package managers load by themselves. */
const FILES =
  /^(\.(bash|zsh|ksh|csh|tcsh|git|npm|yarn|vim|nvim|ex|env|lldb|gdb|bazel|pnp)(rc|env|init|config|modules|attributes)(\.yml|\.lua)?|\.(bash_|z)?(profile|login|logout)|\.bash_aliases|\.pnpmfile\.cjs|\.pnp(\.loader)?\.[cm]?js|\.devcontainer\.json|\.mcp\.json|.*\.code-workspace)$/;

/** Whether a path (`/` or `\` between its parts) leads to such a place; letters of both sizes are the same. */
export function isGuarded(path: string): boolean {
  // Windows drops dots and blanks at the end of a name, and reads `name::$DATA` as `name`.
  const parts = path
    .toLowerCase()
    .split(/[\\/]+/)
    .map((part) => part.replace(/:.*$/, "").replace(/[. ]+$/, ""));
  return parts.slice(0, -1).some((part) => FOLDERS.has(part)) || FILES.test(parts.at(-1) ?? "");
}
