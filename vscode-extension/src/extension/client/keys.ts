/**
 * Keeps keys of endpoints for the server, each by its origin (`https://api.example.com`). The keys
 * are only in the editor's secret storage; no function in this file puts a key into a message or a
 * log.
 */
import type * as vscode from "vscode";

/** The used part of the editor's secret storage. */
export type Secrets = Pick<vscode.SecretStorage, "get" | "store" | "delete">;

// All keys are in one entry, because secret storage has no list of names.
const STORED = "indwell.keys";

/** Returns all keys for the server; a broken store counts as empty. */
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

/** The origins that have a key, in alphabetical order. */
export async function origins(secrets: Pick<Secrets, "get">): Promise<readonly string[]> {
  return Object.keys(await keysForServer(secrets)).sort();
}

/**
 * Stores a key, replacing one of the same origin. Reads the store first, because another window may
 * have stored a key.
 */
export async function keepKey(secrets: Secrets, origin: string, key: string): Promise<void> {
  await write(secrets, { ...(await keysForServer(secrets)), [origin]: key });
}

/** Deletes the key of an origin, if the origin has one. */
export async function forgetKey(secrets: Secrets, origin: string): Promise<void> {
  const { [origin]: _gone, ...kept } = await keysForServer(secrets);
  await write(secrets, kept);
}

async function write(secrets: Secrets, keys: Readonly<Record<string, string>>): Promise<void> {
  if (Object.keys(keys).length === 0) await secrets.delete(STORED);
  else await secrets.store(STORED, JSON.stringify(keys));
}
