/** What of the section `indwell` goes to the server. Pure. */

/** A setting as `WorkspaceConfiguration.inspect` gives it; only what somebody set counts. */
export interface Inspected {
  readonly globalValue?: unknown;
  readonly workspaceValue?: unknown;
  readonly workspaceFolderValue?: unknown;
}

/**
 * Settings that a workspace may choose: of all others its value is not even looked at, because it
 * would stand in the place of the user's own, and loosen it.
 */
const OF_A_WORKSPACE: readonly string[] = ["model", "review_hints"];

/** Settings of the extension, which are nothing of the server's. */
const OUR_OWN: readonly string[] = ["serverPath", "enterSends"];

/** What the settings page shows for "as in config.toml", for a switch and for a text. */
const NOT_SET: readonly unknown[] = ["config", "", null];

/** The server's name of a setting: `checkTimeout` is its `check_timeout_s`; its own names stay. */
export function serverName(name: string): string {
  const small = name.replace(/[A-Z]/g, (one) => `_${one.toLowerCase()}`);
  return /_(timeout|pause)$/.test(small) ? `${small}_s` : small;
}

/** A value as the server takes it; undefined if it says that nothing is set. */
function serverValue(value: unknown): unknown {
  if (NOT_SET.includes(value)) return undefined;
  if (value === "on") return true;
  return value === "off" ? false : value;
}

/**
 * The values that somebody set, by name.
 *
 * Defaults are left out: the server would take them for wishes, and tighten what `config.toml` says.
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
