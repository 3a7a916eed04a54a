/** The variables of the server's process. Pure. */

/** The server takes the keys out of its environment when it starts. */
export const KEYS = "INDWELL_KEYS";

/** The editor's own: they would turn programs that the agent runs into parts of VS Code. */
const OF_THE_EDITOR = /^(ELECTRON_|VSCODE_|CHROME_DESKTOP$|GDK_PIXBUF_MODULE|NODE_OPTIONS$)/;

/** Those of the editor without what is its own, with `keys` (a key by its origin) if there are any. */
export function serverVariables(
  own: Readonly<Record<string, string | undefined>>,
  keys: Readonly<Record<string, string>>,
): Readonly<Record<string, string>> {
  const kept: Record<string, string> = {};
  for (const [name, value] of Object.entries(own)) {
    if (value !== undefined && name !== KEYS && !OF_THE_EDITOR.test(name)) kept[name] = value;
  }
  if (Object.keys(keys).length > 0) kept[KEYS] = JSON.stringify(keys);
  return kept;
}
