/** Tracks the models that the editor offers, and whether the server has the current list. */
import type { EditorModelRow } from "../../protocol.ts";
import type { Clock } from "../clock.ts";

/**
 * Milliseconds between a change event and the next request of the list; doubled each time the list
 * was unchanged.
 */
const FIRST_MS = 500;
const LAST_MS = 60_000;

/** The used part of a model of the editor. `capabilities` exists, but the API does not guarantee it. */
export interface Offered {
  readonly vendor: string;
  readonly id: string;
  readonly maxInputTokens: number;
  readonly capabilities?: {
    readonly supportsImageToText?: unknown;
    readonly supportsToolCalling?: unknown;
  };
}

/** Converts a model to the form for the server. */
export function rowOf({ vendor, id, maxInputTokens, capabilities }: Offered): EditorModelRow {
  const known = (value: unknown): boolean | null => (typeof value === "boolean" ? value : null);
  return {
    vendor,
    id,
    window: Number.isSafeInteger(maxInputTokens) && maxInputTokens > 0 ? maxInputTokens : null,
    pictures: known(capabilities?.supportsImageToText),
    tools: known(capabilities?.supportsToolCalling),
  };
}

/**
 * Requests the list from the editor, and calls `changed` when the list differs from the last list.
 * Some versions of VS Code report a change because the list was requested. The list is therefore
 * compared, and requested more and more rarely while it stays the same.
 */
export class ModelList {
  readonly #select: () => PromiseLike<readonly Offered[]>;
  readonly #changed: () => void;
  readonly #clock: Pick<Clock, "after">;
  /**
   * The last list as JSON, or null if the list was never requested, so that no change needs a
   * report.
   */
  #told: string | null = null;
  #off: (() => void) | undefined;
  #pause = FIRST_MS;

  constructor(
    select: () => PromiseLike<readonly Offered[]>,
    changed: () => void,
    clock: Pick<Clock, "after">,
  ) {
    this.#select = select;
    this.#changed = changed;
    this.#clock = clock;
  }

  /** Returns the current models. */
  async rows(): Promise<readonly EditorModelRow[]> {
    const rows = (await this.#select()).map(rowOf);
    this.#told = JSON.stringify(rows);
    return rows;
  }

  /** Called when the editor reports that the models may have changed. */
  heard(): void {
    if (this.#told !== null) this.#off ??= this.#clock.after(this.#pause, () => void this.#look());
  }

  dispose(): void {
    this.#off?.();
  }

  async #look(): Promise<void> {
    const before = this.#told;
    try {
      const isSame = JSON.stringify((await this.#select()).map(rowOf)) === before;
      this.#pause = isSame ? Math.min(this.#pause * 2, LAST_MS) : FIRST_MS;
      if (!isSame) this.#changed();
    } catch {
      this.#pause = LAST_MS; // The editor is closing, or has no such models.
    } finally {
      this.#off = undefined;
    }
  }
}
