/** The environment variables of the server's process. Pure. */

/** The variable for keys; the server removes it from its environment when it starts. */
export const KEYS = "INDWELL_KEYS";

/**
 * The editor's own variables, which would make programs that the agent runs act as parts of VS
 * Code.
 */
const OF_THE_EDITOR = /^(ELECTRON_|VSCODE_|CHROME_DESKTOP$|GDK_PIXBUF_MODULE|NODE_OPTIONS$)/;

/**
 * Returns the environment without the editor's own variables, with `keys` (by origin) if there are
 * any.
 */
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
