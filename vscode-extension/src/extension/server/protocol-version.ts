/** Compares the version of the protocol that the server announces with the extension's own. */
import { PROTOCOL } from "../../protocol.ts";
import { t } from "../../shared/l10n.ts";

/**
 * Returns why the server and this extension do not fit together, or null.
 *
 * `experimental` has the capabilities of the server beyond LSP; a server before 0.1.0 names no
 * version.
 */
export function whyNotSpoken(experimental: unknown): string | null {
  const found = versionIn(experimental);
  if (found === PROTOCOL) return null;
  return found > PROTOCOL
    ? t(
        "The server is newer than this extension (protocol {0}, the extension speaks {1}). Update the extension.",
        found,
        PROTOCOL,
      )
    : t(
        "The server is older than this extension (protocol {0}, the extension speaks {1}). Update the server, or remove the setting indwell.serverPath.",
        found,
        PROTOCOL,
      );
}

function versionIn(experimental: unknown): number {
  const ours = member(experimental, "indwell");
  const version = member(ours, "protocol");
  return typeof version === "number" ? version : 0;
}

function member(value: unknown, name: string): unknown {
  return typeof value === "object" && value !== null && name in value
    ? (value as Readonly<Record<string, unknown>>)[name]
    : undefined;
}
