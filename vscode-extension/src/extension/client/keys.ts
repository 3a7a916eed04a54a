/**
 * Keys of endpoints that the editor keeps for the server, each by its origin (`https://api.example.com`).
 * They stand in the editor's secret storage and nowhere else; no function here puts one into a message or a log.
 */
import type * as vscode from "vscode";

/** What is used of the editor's secret storage. */
export type Secrets = Pick<vscode.SecretStorage, "get" | "store" | "delete">;

const STORED = "indwell.keys"; // one entry, as secret storage has no list of its names

/** A key by its origin; a broken store counts as none. */
export async function keysForServer(
  secrets: Pick<Secrets, "get">,
): Promise<Record<string, string>> {
  try {
    const stored: unknown = JSON.parse((await secrets.get(STORED)) ?? "{}");
    if (typeof stored !== "object" || stored === null) return {};
    return Object.fromEntries(
      Object.entries(stored).filter(
        (pair): pair is [string, string] => typeof pair[1] === "string",
      ),
    );
  } catch {
    return {};
  }
}

/** The origins that have a key, in the order of the alphabet. */
export async function origins(secrets: Pick<Secrets, "get">): Promise<readonly string[]> {
  return Object.keys(await keysForServer(secrets)).sort();
}

/** Keep a key; one of the same origin goes. Read anew first: another window may have stored one meanwhile. */
export async function keepKey(secrets: Secrets, origin: string, key: string): Promise<void> {
  await write(secrets, { ...(await keysForServer(secrets)), [origin]: key });
}

/** Forget the key of an origin; nothing happens if there is none. */
export async function forgetKey(secrets: Secrets, origin: string): Promise<void> {
  const { [origin]: _gone, ...kept } = await keysForServer(secrets);
  await write(secrets, kept);
}

async function write(secrets: Secrets, keys: Readonly<Record<string, string>>): Promise<void> {
  if (Object.keys(keys).length === 0) await secrets.delete(STORED);
  else await secrets.store(STORED, JSON.stringify(keys));
}
