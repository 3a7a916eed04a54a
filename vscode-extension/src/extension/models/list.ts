/** Which models the editor offers, and whether they have changed since the server was told. Knows no window. */
import type { EditorModelRow } from "../../protocol.ts";
import type { Clock } from "../chat/clock.ts";

/** Milliseconds after a sign of change until it is looked at; doubled each time that nothing had changed. */
const FIRST_MS = 500;
const LAST_MS = 60_000;

/** What is used of a model of the editor. `capabilities` is there, but no promise of the API. */
export interface Offered {
  readonly vendor: string;
  readonly id: string;
  readonly maxInputTokens: number;
  readonly capabilities?: {
    readonly supportsImageToText?: unknown;
    readonly supportsToolCalling?: unknown;
  };
}

/** A model as the server is told of it. */
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
 * Asks the editor for the list, and tells `changed` when it is another than the last one.
 *
 * Some versions of VS Code call the list changed because it was asked for: so it is compared, and looked at ever more
 * rarely while it stays as it was.
 */
export class ModelList {
  readonly #select: () => PromiseLike<readonly Offered[]>;
  readonly #changed: () => void;
  readonly #clock: Pick<Clock, "after">;
  /** As JSON; null: nobody has asked yet, so nobody need be told. */
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

  /** The models as they are now. */
  async rows(): Promise<readonly EditorModelRow[]> {
    const rows = (await this.#select()).map(rowOf);
    this.#told = JSON.stringify(rows);
    return rows;
  }

  /** The editor says that they may have changed. */
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
      this.#pause = LAST_MS; // the editor goes, or has no such models
    } finally {
      this.#off = undefined;
    }
  }
}
