/** Unsent text in the editor's storage for this panel: a second copy, written at once. No DOM. */

/** The state that the editor keeps for a webview while it is hidden and across a reload. */
export interface Slot {
  getState(): unknown;
  setState(state: unknown): void;
}

/**
 * The composer's text; `at` counts its changes, so that the newer of two copies can be recognised.
 */
export interface KeptText {
  readonly text: string;
  readonly at: number;
}

interface TabNamed {
  readonly id: string;
  readonly session: string | null;
}

/**
 * The maximum number of drafts that are kept besides the composer's text; the oldest draft is
 * dropped first.
 */
const MOST_DRAFTS = 20;

export class KeptWords {
  readonly #slot: Slot;
  #typed: KeptText | null;
  #drafts: ReadonlyMap<string, string>;
  #tab: TabNamed | null;
  #page: string;

  /** `tab` is the id of the editor tab that contains the page, or null for the panel. */
  constructor(slot: Slot, tab: string | null = null) {
    this.#slot = slot;
    const state = slot.getState();
    this.#typed = typedOf(fieldOf(state, "typed"));
    this.#drafts = draftsOf(fieldOf(state, "drafts"));
    const session = fieldOf(fieldOf(state, "tab"), "session");
    this.#tab =
      tab === null ? null : { id: tab, session: typeof session === "string" ? session : null };
    const page = fieldOf(state, "page");
    this.#page = typeof page === "string" ? page : "";
    if (tab !== null) this.#write();
  }

  /**
   * Stores the session of the tab, so that VS Code can restore the tab with this session; does
   * nothing in the panel.
   */
  keepSession(session: string | null): void {
    if (this.#tab === null || this.#tab.session === session) return;
    this.#tab = { ...this.#tab, session };
    this.#write();
  }

  /**
   * Returns whether the page of this name is loaded for the first time; a page is loaded again each
   * time it is shown again.
   */
  isNew(page: string): boolean {
    if (page === this.#page) return false;
    this.#page = page;
    this.#write();
    return true;
  }

  /** The composer's text as last written, or null if no text was ever written. */
  get typed(): KeptText | null {
    return this.#typed;
  }

  keepTyped(typed: KeptText): void {
    this.#typed = typed;
    this.#write();
  }

  /** Returns the text of a field other than the composer, or null if none is stored. */
  draft(key: string): string | null {
    return this.#drafts.get(key) ?? null;
  }

  /**
   * Stores a field's text; null removes the stored text after the field was closed or its text was
   * sent.
   */
  keepDraft(key: string, text: string | null): void {
    const drafts = new Map(this.#drafts);
    const was = drafts.delete(key);
    if (text === null && !was) return;
    if (text !== null) drafts.set(key, text);
    this.#drafts = new Map([...drafts].slice(-MOST_DRAFTS));
    this.#write();
  }

  #write(): void {
    const tab = this.#tab === null ? {} : { tab: this.#tab };
    const page = this.#page === "" ? {} : { page: this.#page };
    this.#slot.setState({ ...tab, ...page, typed: this.#typed, drafts: [...this.#drafts] });
  }
}

/** Returns storage in memory only, for editors without webview state. */
export function noSlot(): Slot {
  return { getState: () => null, setState: () => undefined };
}

function fieldOf(value: unknown, name: string): unknown {
  return typeof value === "object" && value !== null ? Reflect.get(value, name) : undefined;
}

function typedOf(value: unknown): KeptText | null {
  const text = fieldOf(value, "text");
  const at = fieldOf(value, "at");
  return typeof text === "string" && typeof at === "number" ? { text, at } : null;
}

function draftsOf(value: unknown): ReadonlyMap<string, string> {
  if (!Array.isArray(value)) return new Map();
  return new Map(
    value.flatMap((pair: unknown): [string, string][] => {
      const [key, text]: readonly unknown[] = Array.isArray(pair) ? pair : [];
      return typeof key === "string" && typeof text === "string" ? [[key, text]] : [];
    }),
  );
}
