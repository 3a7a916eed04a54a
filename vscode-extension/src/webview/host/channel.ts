/**
 * The webview's connection to the extension host, with a copy of the state that each action of the
 * host updates, and the props that every part of the panel gets from it.
 */

import type { FocusPlace, FoundRow, ToHost, ToPanel } from "../../shared/messages.ts";
import type { Action } from "../../shared/state/action.ts";
import { withDraft } from "../../shared/state/reduce-composer.ts";
import { reduce } from "../../shared/state/reducer.ts";
import type { PanelState } from "../../shared/state/state.ts";
import { coloursCame } from "../markdown/highlight.ts";
import { KeptWords, noSlot, type Slot } from "./kept-words.ts";

/**
 * The panel's connection for events that are not part of the state. Each method returns a function
 * that unsubscribes.
 */
export interface Channel {
  /** The composer's text from the host's newest snapshot, with later drafts. */
  readonly typed: string;
  /** Counts the changes of `typed`. */
  readonly typedAt: number;
  /** Unsent text in the editor's own storage, which outlives this page. */
  readonly kept: KeptWords;
  /** The id of the newest draft in `typed`. */
  readonly drafted: number;
  onFound(listener: (id: number, rows: readonly FoundRow[]) => void): () => void;
  onFocus(listener: (where: FocusPlace) => void): () => void;
  onSnapshot(listener: (typed: string) => void): () => void;
  /**
   * Called for each draft of the host, even if a batch has several drafts and the state only the
   * last.
   */
  onDraft(listener: (draft: PanelState["draft"]) => void): () => void;
  /** Moves the focus, as a message of the host does. */
  focus(where: FocusPlace): void;
}

/** The transport: sends messages, and receives incoming ones. */
interface Wire {
  send(message: ToHost): void;
  receive(take: (message: unknown) => void): void;
}

/** Owns the copy of the state; calls `changed` after each message that changed it. */
export class HostChannel implements Channel {
  typed = "";
  typedAt = 0;
  readonly kept: KeptWords;
  state: PanelState | null = null;
  readonly #wire: Wire;
  readonly #found = new Set<(id: number, rows: readonly FoundRow[]) => void>();
  readonly #focus = new Set<(where: FocusPlace) => void>();
  readonly #snapshot = new Set<(typed: string) => void>();
  readonly #draft = new Set<(draft: PanelState["draft"]) => void>();
  readonly #changed: (state: PanelState) => void;
  #asked = false;

  constructor(
    wire: Wire,
    changed: (state: PanelState) => void,
    slot: Slot = noSlot(),
    tab: string | null = null,
  ) {
    this.kept = new KeptWords(slot, tab);
    this.#changed = changed;
    this.#wire = wire;
    wire.receive((message) => {
      // Only the extension host can send messages here, so a message with a known tag is not
      // checked further.
      if (isToPanel(message) && this.#take(message) && this.state !== null) {
        this.kept.keepSession(this.state.session);
        changed(this.state);
      }
    });
  }

  readonly post = (message: ToHost): void => this.#wire.send(message);

  /** Requests a snapshot at the start, and after a missed action. */
  readonly begin = (): void => {
    if (this.#asked) return;
    this.#asked = true;
    this.post({ type: "ready" });
  };

  /** Draws the state that the page itself contains, then requests only later actions. */
  beginWith(first: string): void {
    const message: unknown = first === "" ? null : JSON.parse(first);
    if (!isToPanel(message) || !this.#take(message) || this.state === null) {
      this.begin();
      return;
    }
    this.kept.keepSession(this.state.session);
    this.#changed(this.state);
    this.post({ type: "ready", at: this.state.revision });
  }

  onFound(listener: (id: number, rows: readonly FoundRow[]) => void): () => void {
    return subscribe(this.#found, listener);
  }
  onFocus(listener: (where: FocusPlace) => void): () => void {
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

  focus(where: FocusPlace): void {
    for (const tell of this.#focus) tell(where);
  }

  /** Returns whether the panel has to draw. */
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
      case "coloured":
        coloursCame(message.id, message.coloured);
        return true; // The next drawing includes the colours.
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

const TAGS: ReadonlySet<unknown> = new Set(["snapshot", "actions", "found", "coloured", "focus"]);

function isToPanel(message: unknown): message is ToPanel {
  return (
    typeof message === "object" && message !== null && "type" in message && TAGS.has(message.type)
  );
}

/** Sends one message to the extension host; never throws. */
export type Post = (message: ToHost) => void;

export interface ViewProps {
  readonly state: PanelState;
  readonly post: Post;
  readonly channel: Channel;
}
