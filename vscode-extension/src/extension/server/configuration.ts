/**
 * What a process of the server gets: its environment variables, and the settings of the section
 * `indwell`. Pure.
 */

/** The variable for keys; the server removes it from its environment when it starts. */
const KEYS = "INDWELL_KEYS";

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

/** A setting as from `WorkspaceConfiguration.inspect`; only set values are used. */
interface Inspected {
  readonly globalValue?: unknown;
  readonly workspaceValue?: unknown;
  readonly workspaceFolderValue?: unknown;
}

/**
 * Settings that a workspace may choose. A workspace's values of all other settings are ignored,
 * because they would replace the user's own, and make them less strict.
 */
const OF_A_WORKSPACE: readonly string[] = ["model", "review_hints"];

/** Settings of the extension, which are not sent to the server. */
const OUR_OWN: readonly string[] = ["serverPath", "enterSends"];

/** The values that mean "as in config.toml" on the settings page, for a switch and for a text. */
const NOT_SET: readonly unknown[] = ["config", "", null];

/**
 * Returns the server's name of a setting: `checkTimeout` becomes `check_timeout_s`; names of the
 * server are unchanged.
 */
function serverName(name: string): string {
  const small = name.replace(/[A-Z]/g, (one) => `_${one.toLowerCase()}`);
  return /_(timeout|pause)$/.test(small) ? `${small}_s` : small;
}

/** Converts a value to the server's form; returns undefined if the value means "not set". */
function serverValue(value: unknown): unknown {
  if (NOT_SET.includes(value)) return undefined;
  if (value === "on") return true;
  return value === "off" ? false : value;
}

/**
 * Returns the explicitly set values, by name. Defaults are left out: the server would treat them as
 * set, and override `config.toml` with stricter values.
 */
export function settingsForServer(
  names: readonly string[],
  inspect: (name: string) => Inspected | undefined,
): Readonly<Record<string, unknown>> {
  const chosen: Record<string, unknown> = {};
  for (const own of names.filter((one) => !OUR_OWN.includes(one))) {
    const it = inspect(own);
    const name = serverName(own);
    const local = OF_A_WORKSPACE.includes(name)
      ? (serverValue(it?.workspaceFolderValue) ?? serverValue(it?.workspaceValue))
      : undefined;
    const value = local ?? serverValue(it?.globalValue);
    // A table is the beginning of longer names, such as the client's own `indwell.trace.server`.
    const isTable = typeof value === "object" && !Array.isArray(value);
    if (value !== undefined && !isTable) chosen[name] = value;
  }
  return chosen;
}
