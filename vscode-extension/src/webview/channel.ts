/** The webview's end of the line to the extension host: a copy of the state, kept in step action by action. */
import type { Action } from "../shared/action.ts";
import { withDraft } from "../shared/draft.ts";
import type { FoundRow, ToHost, ToPanel } from "../shared/messages.ts";
import { reduce } from "../shared/reducer.ts";
import type { PanelState } from "../shared/state.ts";
import { KeptWords, noSlot, type Slot } from "./kept-words.ts";

/** What a part of the panel may listen to besides the state. Each returns how to stop. */
export interface Channel {
  /** The composer's text as the host kept it, of the newest snapshot, with the drafts that came since. */
  readonly typed: string;
  /** Counts the changes of `typed`. */
  readonly typedAt: number;
  /** Unsent words in the editor's own memory, which outlive this page. */
  readonly kept: KeptWords;
  /** Id of the newest draft in `typed`. */
  readonly drafted: number;
  onFound(listener: (id: number, rows: readonly FoundRow[]) => void): () => void;
  onFocus(listener: (where: "composer" | "question") => void): () => void;
  onSnapshot(listener: (typed: string) => void): () => void;
  /** Each draft of the host, also those of one batch of which only the last stands in the state. */
  onDraft(listener: (draft: PanelState["draft"]) => void): () => void;
  /** Put the focus there, as a message of the host does. */
  focus(where: "composer" | "question"): void;
}

/** The wire: messages out, and a way to take those that come in. */
export interface Wire {
  send(message: ToHost): void;
  receive(take: (message: unknown) => void): void;
}

/** Owns the copy of the state; tells `changed` after each message that touched it. */
export class HostChannel implements Channel {
  typed = "";
  typedAt = 0;
  readonly kept: KeptWords;
  state: PanelState | null = null;
  readonly #wire: Wire;
  readonly #found = new Set<(id: number, rows: readonly FoundRow[]) => void>();
  readonly #focus = new Set<(where: "composer" | "question") => void>();
  readonly #snapshot = new Set<(typed: string) => void>();
  readonly #draft = new Set<(draft: PanelState["draft"]) => void>();
  #asked = false;

  constructor(wire: Wire, changed: (state: PanelState) => void, slot: Slot = noSlot()) {
    this.kept = new KeptWords(slot);
    this.#wire = wire;
    wire.receive((message) => {
      // Only the extension host can post here, so the shape is trusted once the tag is known.
      if (isToPanel(message) && this.#take(message) && this.state !== null) changed(this.state);
    });
  }

  readonly post = (message: ToHost): void => this.#wire.send(message);

  /** Ask for a snapshot: at the start, and whenever an action was missed. */
  readonly begin = (): void => {
    if (this.#asked) return;
    this.#asked = true;
    this.post({ type: "ready" });
  };

  onFound(listener: (id: number, rows: readonly FoundRow[]) => void): () => void {
    return subscribe(this.#found, listener);
  }
  onFocus(listener: (where: "composer" | "question") => void): () => void {
    return subscribe(this.#focus, listener);
  }
  onSnapshot(listener: (typed: string) => void): () => void {
    return subscribe(this.#snapshot, listener);
  }

  onDraft(listener: (draft: PanelState["draft"]) => void): () => void {
    return subscribe(this.#draft, listener);
  }

  get drafted(): number {
    return this.state?.draft.id ?? 0;
  }

  focus(where: "composer" | "question"): void {
    for (const tell of this.#focus) tell(where);
  }

  /** Whether the state is another one now. */
  #take(message: ToPanel): boolean {
    switch (message.type) {
      case "snapshot":
        this.#snapshotCame(message);
        return true;
      case "actions":
        return this.#reduce(message);
      case "found":
        for (const tell of this.#found) tell(message.id, message.rows);
        return false;
      case "focus":
        this.focus(message.where);
        return false;
      default:
        return message satisfies never;
    }
  }

  #reduce(message: Extract<ToPanel, { type: "actions" }>): boolean {
    if (this.state === null || this.#asked) return false;
    if (this.state.revision !== message.revision - message.actions.length) {
      this.begin();
      return false;
    }
    this.state = message.actions.reduce((state, action) => this.#step(state, action), this.state);
    return true;
  }

  #step(state: PanelState, action: Action): PanelState {
    const next = reduce(state, action);
    if (next.draft.id !== state.draft.id) {
      this.typed = withDraft(this.typed, next.draft);
      this.typedAt += 1;
      for (const tell of this.#draft) tell(next.draft);
    }
    return next;
  }

  #snapshotCame(message: Extract<ToPanel, { type: "snapshot" }>): void {
    const before = this.state?.draft.id ?? message.state.draft.id;
    this.#asked = false;
    this.state = message.state;
    this.typed = message.typed;
    this.typedAt = message.typedAt ?? 0;
    for (const tell of this.#snapshot) tell(message.typed);
    if (message.state.draft.id === before) return;
    for (const tell of this.#draft) tell(message.state.draft);
  }
}

function subscribe<T>(listeners: Set<T>, listener: T): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

const TAGS: ReadonlySet<unknown> = new Set(["snapshot", "actions", "found", "focus"]);

function isToPanel(message: unknown): message is ToPanel {
  return (
    typeof message === "object" && message !== null && "type" in message && TAGS.has(message.type)
  );
}
