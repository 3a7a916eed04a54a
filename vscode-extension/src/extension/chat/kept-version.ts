/**
 * The version of what the panel stores in a workspace. An older extension neither reads nor changes
 * what a newer one has stored. Independent of VS Code.
 */
import type { Stored } from "./tab/tab-memory.ts";

export const KEPT_VERSION = 1;
const KEY = "indwell.version";

/** Returns whether a newer extension wrote stored values; values before 0.1.0 have no version. */
export function isNewer(version: unknown): boolean {
  return typeof version === "number" && version > KEPT_VERSION;
}

/**
 * Returns VS Code's storage, marked with the version; or an empty storage in memory, if a newer
 * extension has stored values, and calls `refused`.
 */
export function storedHere(stored: Stored, refused: () => void): Stored {
  const version = stored.get(KEY);
  if (isNewer(version)) {
    refused();
    return inMemory();
  }
  if (version !== KEPT_VERSION) void stored.update(KEY, KEPT_VERSION);
  return stored;
}

function inMemory(): Stored {
  const values = new Map<string, unknown>();
  return {
    keys: () => [...values.keys()],
    get: (key) => values.get(key),
    update: async (key, value) => {
      values.set(key, value);
    },
  };
}
