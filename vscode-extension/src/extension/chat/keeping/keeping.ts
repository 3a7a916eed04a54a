/** Stores state across a reload of the window: session, typed text, chips, earlier prompts. */

import * as v from "valibot";
import { t } from "../../../shared/l10n.ts";
import type { Action } from "../../../shared/state/action.ts";
import { HISTORY_KEPT, withDraft } from "../../../shared/state/reduce-composer.ts";
import type { Attachment, PanelState } from "../../../shared/state/state.ts";
import { type Clock, debounced } from "../../clock.ts";
import type { Memory } from "../ports.ts";

/** The maximum number of characters of pictures that are stored; a whole prompt may have 70 million. */
const MOST_PICTURES = 8_000_000;
const SAVE_MS = 300;
const DROPPED = {
  level: "info",
  text: t("Pictures of the draft were too large to be kept over the reload; attach them again."),
  retry: false,
} as const;

const text = v.string();
const ATTACHMENTS = v.array(
  v.variant("kind", [
    v.object({ kind: v.literal("mention"), id: text, label: text, path: text }),
    v.object({ kind: v.literal("image"), id: text, label: text, mime: text, data: text }),
    v.object({ kind: v.literal("text"), id: text, label: text, text }),
    v.object({ kind: v.literal("problems"), id: text, label: text, uri: v.nullable(text) }),
    v.object({ kind: v.literal("changes"), id: text, label: text }),
  ]),
);

const OUTGOING = v.array(v.object({ words: text, attachments: ATTACHMENTS }));

/** A prompt that was sent but has not begun. */
interface Went {
  readonly id?: number;
  readonly words: string;
  readonly attachments: readonly Attachment[];
}

export class Keeping {
  readonly #memory: Memory;
  readonly #save: { (): void; dispose(): void };
  #typed: string;
  #typedAt: number;
  #writing = false;
  #unwritten = false;
  #draft = 0;
  #state: PanelState | undefined;
  #kept: readonly Attachment[] | undefined;
  #outgoing: PanelState["outgoing"] | undefined;
  /** The prompts that were sent but have not begun, with their attachments. */
  #went: readonly Went[] = [];
  #unsent: readonly Went[];

  constructor(memory: Memory, clock: Clock) {
    this.#memory = memory;
    this.#typed = v.is(text, memory.get("typed")) ? String(memory.get("typed")) : "";
    const at = memory.get("typedAt");
    this.#typedAt = typeof at === "number" ? at : 0;
    const unsent = memory.get("outgoing");
    this.#unsent = v.is(OUTGOING, unsent) ? unsent : [];
    this.#save = debounced(clock, SAVE_MS, () => this.flush());
  }

  /** The composer's text, as last reported. */
  get typed(): string {
    return this.#typed;
  }

  /**
   * Counts the changes of `typed`; the webview counts its own copy, and the copy with the higher
   * count is newer.
   */
  get typedAt(): number {
    return this.#typedAt;
  }

  /**
   * Sets the composer's text and writes it at once, because a window may close right after the last
   * key.
   */
  readonly setTyped = (words: string, at = this.#typedAt + 1): void => {
    this.#typed = words;
    this.#typedAt = Math.max(at, this.#typedAt);
    this.#writeTyped();
  };

  /** The session that the panel showed last, or null for a new session. */
  get session(): string | null {
    const kept = this.#memory.get("session");
    return typeof kept === "string" ? kept : null;
  }

  /** Records that a prompt is being sent. */
  went(id: number, words: string, attachments: readonly Attachment[]): void {
    this.#went = [...this.#went, { id, words, attachments }];
  }

  /**
   * Returns, once, the prompts that were sent before a reload and never began, without those in
   * `waiting`, the server's queue.
   */
  unsent(waiting: readonly string[]): readonly Action[] {
    const lost = this.#unsent.filter((one) => !waiting.includes(one.words));
    this.#unsent = [];
    this.#writeOutgoing();
    const words = lost.flatMap((one) => (one.words.trim() === "" ? [] : [one.words]));
    return [
      ...lost.flatMap((one) => one.attachments).map(attaching),
      ...(words.length === 0
        ? []
        : [{ type: "draft", text: words.join("\n\n"), mode: "replace" } as const]),
    ];
  }

  /** Returns the actions that restore the stored state. */
  restore(): readonly Action[] {
    const history = this.#memory.get("history");
    const attachments = this.#memory.get("attachments");
    const prompts = v.is(v.array(text), history) ? history.slice(0, HISTORY_KEPT) : [];
    const chips: readonly Attachment[] = v.is(ATTACHMENTS, attachments) ? attachments : [];
    return [
      { type: "history", prompts },
      ...chips.map(attaching),
      ...(this.#memory.get("dropped") === true
        ? [{ type: "banner", banner: DROPPED } as const]
        : []),
    ];
  }

  /** Stores the changes of an action. */
  heard(action: Action, state: PanelState): void {
    this.#state = state;
    if (state.draft.id !== this.#draft) {
      // A command, or the end of a turn, returned text.
      this.#draft = state.draft.id;
      this.setTyped(withDraft(this.#typed, state.draft));
    }
    if (state.outgoing !== this.#outgoing) {
      this.#outgoing = state.outgoing;
      const left = new Set(state.outgoing.map((one) => one.id));
      this.#went = this.#went.filter((one) => one.id !== undefined && left.has(one.id));
      this.#writeOutgoing();
    }
    switch (action.type) {
      case "opened":
        this.#memory.set("session", state.session);
        return;
      case "sent":
        // Sent attachments must not return as chips, not even after a crash.
        this.flush();
        return;
      case "history":
      case "attach":
      case "unattach":
      case "answered":
        this.#save();
        return;
      default:
        return;
    }
  }

  /** Writes the state now. */
  flush(): void {
    void this.#setTyped();
    if (this.#state === undefined) return;
    this.#memory.set("history", this.#state.history);
    if (this.#state.attachments === this.#kept) return;
    this.#kept = this.#state.attachments;
    const own = this.#state.attachments.filter((one) => one.kind !== "context");
    const kept = keepable(own);
    this.#memory.set("attachments", kept);
    this.#memory.set("dropped", kept.length < own.length);
  }

  #writeOutgoing(): void {
    const all = [...this.#unsent, ...this.#went];
    const kept = all.map(({ words, attachments }) => ({
      words,
      attachments: keepable(attachments),
    }));
    void this.#memory.set("outgoing", kept);
  }

  /**
   * Writes at most once at a time; keys typed during a write are written together by the next
   * write.
   */
  #writeTyped(): void {
    this.#unwritten = this.#writing;
    if (this.#writing) return;
    const written = this.#setTyped();
    if (written === undefined) return;
    this.#writing = true;
    const next = (): void => {
      this.#writing = false;
      if (this.#unwritten) this.#writeTyped();
    };
    written.then(next, next);
  }

  #setTyped(): PromiseLike<unknown> | undefined {
    this.#unwritten = false;
    void this.#memory.set("typedAt", this.#typedAt);
    return this.#memory.set("typed", this.#typed);
  }

  dispose(): void {
    this.#save.dispose();
    this.flush();
  }
}

/** Returns the user's own chips, without pictures that are too large for a settings store. */
function keepable(attachments: readonly Attachment[]): readonly Attachment[] {
  let left = MOST_PICTURES;
  return attachments.filter((one) => {
    if (one.kind !== "image") return one.kind !== "context";
    left -= one.data.length;
    return left >= 0;
  });
}

function attaching(attachment: Attachment): Action {
  return { type: "attach", attachment };
}
