/**
 * Stores values of the chat in a file of the workspace's own storage. VS Code for the web stores
 * its own memory in the browser a moment later, and a reload within that moment loses the change.
 */
import { readFileSync } from "node:fs";
import { mkdir, rename, writeFile } from "node:fs/promises";
import { dirname } from "node:path";

export class KeptFile {
  readonly #path: string;
  readonly #failed: (error: unknown) => void;
  readonly #values: Map<string, unknown>;
  #writing: Promise<void> | undefined;
  #isStale = false;

  /** Reads the file once; `failed` is called if a change cannot be written to disk. */
  constructor(path: string, failed: (error: unknown) => void) {
    this.#path = path;
    this.#failed = failed;
    this.#values = new Map(Object.entries(valuesIn(path)));
  }

  get(key: string): unknown {
    return this.#values.get(key);
  }

  /** Stores a value; resolves when the file contains the value. */
  set(key: string, value: unknown): Promise<void> {
    this.#values.set(key, value);
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
        await writeFile(next, JSON.stringify(Object.fromEntries(this.#values)), { mode: 0o600 });
        await rename(next, this.#path);
      }
    } catch (error) {
      this.#failed(error);
    }
  }
}

function valuesIn(path: string): object {
  try {
    const read: unknown = JSON.parse(readFileSync(path, "utf8"));
    return typeof read === "object" && read !== null ? read : {};
  } catch {
    return {}; // There is no file yet, or a crash interrupted the write.
  }
}
