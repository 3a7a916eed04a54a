/**
 * Stores values of the chat in a file of the workspace's own storage, with a version: an older
 * extension neither reads nor changes what a newer one has stored. VS Code for the web stores its
 * own memory in the browser a moment later, and a reload within that moment loses the change.
 */
import { readFileSync } from "node:fs";
import { mkdir, rename, writeFile } from "node:fs/promises";
import { dirname } from "node:path";
import type { Stored } from "../session/tab-state.ts";

/** The version of what the panel stores in a workspace. */
export const KEPT_VERSION = 1;
const KEY = "indwell.version";

/** Returns whether a newer extension wrote stored values; values before 0.1.0 have no version. */
function isNewer(version: unknown): boolean {
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

export class KeptFile {
  readonly #path: string;
  readonly #failed: (error: unknown) => void;
  readonly #values: Map<string, unknown>;
  #writing: Promise<void> | undefined;
  #isStale = false;
  /** A newer extension wrote the file, which therefore stays as it is. */
  readonly #isForeign: boolean;

  /** Reads the file once; `failed` is called if a change cannot be written to disk. */
  constructor(path: string, failed: (error: unknown) => void) {
    this.#path = path;
    this.#failed = failed;
    const { version, ...values } = valuesIn(path);
    this.#isForeign = isNewer(version);
    this.#values = new Map(this.#isForeign ? [] : Object.entries(values));
  }

  get(key: string): unknown {
    return this.#values.get(key);
  }

  /** Stores a value; resolves when the file contains the value. */
  set(key: string, value: unknown): Promise<void> {
    this.#values.set(key, value);
    if (this.#isForeign) return Promise.resolve();
    this.#isStale = true;
    this.#writing ??= this.#write().finally(() => {
      this.#writing = undefined;
    });
    return this.#writing;
  }

  /**
   * Writes the values; changes that arrive during a write are written together by the next write.
   */
  async #write(): Promise<void> {
    const next = `${this.#path}.${process.pid}`;
    try {
      await mkdir(dirname(this.#path), { recursive: true });
      while (this.#isStale) {
        this.#isStale = false;
        const values = { version: KEPT_VERSION, ...Object.fromEntries(this.#values) };
        await writeFile(next, JSON.stringify(values), { mode: 0o600 });
        await rename(next, this.#path);
      }
    } catch (error) {
      this.#failed(error);
    }
  }
}

function valuesIn(path: string): Readonly<Record<string, unknown>> {
  try {
    const read: unknown = JSON.parse(readFileSync(path, "utf8"));
    return typeof read === "object" && read !== null ? { ...read } : {};
  } catch {
    return {}; // There is no file yet, or a crash interrupted the write.
  }
}
