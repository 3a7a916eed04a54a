/**
 * Keeps the typed text and the earlier prompts outside of any component, so that a recreated
 * composer loses no character.
 */
import type { RefObject } from "preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { MOST_WORDS } from "../../shared/messages.ts";
import { withDraft } from "../../shared/state/reduce-composer.ts";
import type { PanelState } from "../../shared/state/state.ts";
import type { Channel, Post } from "../host/channel.ts";
import type { KeptWords } from "../host/kept-words.ts";

/**
 * The user's position in the history. If `at` is -1, the unsent text is shown; `unsent` stores this
 * text while another prompt is shown.
 */
interface HistoryPlace {
  readonly at: number;
  readonly unsent: string;
  /** Unsent texts that an edited earlier prompt has replaced, newest first. */
  readonly kept: readonly string[];
}

export const AT_DRAFT: HistoryPlace = { at: -1, unsent: "", kept: [] };

/** A step in the history, and the composer's text after the step. */
export interface HistoryStep {
  readonly place: HistoryPlace;
  readonly text: string;
}

/**
 * Goes one prompt back in time (`prompts` has the newest first); returns null if the oldest prompt
 * is already shown. Equal neighbours count once.
 */
export function older(
  place: HistoryPlace,
  prompts: readonly string[],
  text: string,
): HistoryStep | null {
  const unsent = place.at === -1 ? text : place.unsent;
  const all = [...place.kept, ...prompts];
  for (let at = place.at + 1; at < all.length; at += 1) {
    const prompt = all[at];
    if (prompt !== undefined && prompt !== text) {
      return { place: { ...place, at, unsent }, text: prompt };
    }
  }
  return null;
}

/**
 * Goes one prompt forward, and finally to the unsent text; returns null if the unsent text is
 * already shown.
 */
export function newer(
  place: HistoryPlace,
  prompts: readonly string[],
  text: string,
): HistoryStep | null {
  if (place.at === -1) return null;
  const all = [...place.kept, ...prompts];
  for (let at = place.at - 1; at >= 0; at -= 1) {
    const prompt = all[at];
    if (prompt !== undefined && prompt !== text) return { place: { ...place, at }, text: prompt };
  }
  return { place: { ...AT_DRAFT, kept: place.kept }, text: place.unsent };
}

/**
 * Handles an edit of the shown prompt: the edited prompt becomes the draft, and the up key reaches
 * the previous draft.
 */
export function edited(place: HistoryPlace): HistoryPlace {
  if (place.at === -1) return place;
  const kept = place.unsent.trim() === "" ? place.kept : [place.unsent, ...place.kept];
  return { at: -1, unsent: "", kept };
}

/**
 * Up to this number of characters, the text is sent to the host after each key, because a panel may
 * be hidden right after the last key.
 */
const AT_ONCE = 20_000;
/** Milliseconds without a key before longer texts are sent to the host. */
const TOLD_AFTER = 200;

/**
 * Called with the text; after a change from outside the text box, `caret` is the caret's position
 * (a UTF-16 offset), otherwise null.
 */
type TextChange = (text: string, caret: number | null) => void;

/** The used part of the connection to the host. */
type DraftChannel = Pick<
  Channel,
  "typed" | "typedAt" | "kept" | "drafted" | "onSnapshot" | "onDraft"
>;

/** The unsent text of one panel; remembers which drafts of the host the text already includes. */
export class DraftKeeper {
  text: string;
  /** The position in the prompt history. */
  place: HistoryPlace = AT_DRAFT;
  readonly #post: Post;
  readonly #listeners = new Set<TextChange>();
  #taken: number;
  readonly #kept: KeptWords;
  #told: string;
  /** Counts the changes, as the host's copy does. */
  #at: number;
  #composing = false;
  #waiting: readonly PanelState["draft"][] = [];
  #timer: ReturnType<typeof setTimeout> | null = null;

  constructor(channel: DraftChannel, post: Post) {
    const { typed } = channel.kept;
    this.#kept = channel.kept;
    this.#told = channel.typed;
    this.#at = channel.typedAt;
    // The copy with more changes is the newer one.
    const isNewer = typed !== null && typed.at > channel.typedAt;
    this.text = isNewer ? typed.text : channel.typed;
    if (isNewer) this.#at = typed.at;
    this.#taken = channel.drafted;
    channel.onDraft((draft) => this.take(draft));
    this.#post = post;
    // The host's text is older than the text in this panel, so it is used only if this panel has no
    // text.
    channel.onSnapshot((typed) => {
      const isNewer = channel.typedAt >= this.#at;
      this.#at = Math.max(this.#at, channel.typedAt);
      this.#told = typed;
      if (isNewer && this.text === "" && this.#timer === null) this.put(typed);
      else this.#changed();
    });
    this.tell();
  }

  /** Calls the listener at each change; returns a function that unsubscribes. */
  onChange(listener: TextChange): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Sets the text of the text box after the user typed. */
  typed(text: string): void {
    this.text = text;
    this.place = edited(this.place);
    for (const listener of this.#listeners) listener(text, null);
    this.#changed();
  }

  /**
   * Blocks changes from outside while an input method composes a character; a draft waits until the
   * composition ends.
   */
  hold(composing: boolean): void {
    this.#composing = composing;
    const waiting = this.#waiting;
    if (composing) return;
    this.#waiting = [];
    for (const draft of waiting) this.take(draft);
  }

  /** Puts another text into the text box. */
  put(text: string, caret = text.length): void {
    this.text = text;
    for (const listener of this.#listeners) listener(text, caret);
    this.#changed();
  }

  /** Adds a draft of the host, once for each id. */
  take(draft: PanelState["draft"]): void {
    if (this.#taken === draft.id) return;
    if (this.#composing) {
      this.#waiting = [...this.#waiting, draft];
      return;
    }
    this.#taken = draft.id;
    const joined = withDraft(this.text, draft);
    if (joined !== this.text) this.put(joined);
  }

  /** Clears a sent text, and notifies the host at once. */
  sent(): void {
    this.place = {
      ...AT_DRAFT,
      kept: this.place.unsent.trim() === "" ? this.place.kept : edited(this.place).kept,
    };
    this.put("");
    this.tell();
  }

  /** Sends unsent changes to the host now. */
  readonly tell = (): void => {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
    if (this.text === this.#told) return;
    this.#told = this.text;
    this.#at += 1;
    // A text that is too long for a message is kept only in this panel.
    this.#kept.keepTyped({ text: this.text, at: this.#at });
    if (this.text.length <= MOST_WORDS)
      this.#post({ type: "typed", text: this.text, at: this.#at });
  };

  #changed(): void {
    if (this.text.length <= AT_ONCE) {
      this.tell();
      return;
    }
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = setTimeout(this.tell, TOLD_AFTER);
  }
}

const keepers = new WeakMap<Channel, DraftKeeper>();

/** Returns the keeper of this panel, which stays the same as long as its channel exists. */
function keeperOf(channel: Channel, post: Post): DraftKeeper {
  const known = keepers.get(channel);
  if (known !== undefined) return known;
  const keeper = new DraftKeeper(channel, post);
  keepers.set(channel, keeper);
  return keeper;
}

interface Draft {
  readonly keeper: DraftKeeper;
  readonly text: string;
}

/** Renders again with each change; notifies the host before the panel closes. */
export function useDraft(
  post: Post,
  channel: Channel,
  box: RefObject<HTMLTextAreaElement | null>,
): Draft {
  const keeper = keeperOf(channel, post);
  const [, draw] = useState(0);
  const caret = useRef<number | null>(null);

  useLayoutEffect(
    () =>
      keeper.onChange((_, place) => {
        if (place !== null) caret.current = place;
        draw((count) => count + 1);
      }),
    [keeper],
  );
  useLayoutEffect(() => {
    if (caret.current === null || box.current === null) return;
    box.current.setSelectionRange(caret.current, caret.current);
    caret.current = null;
  });

  useEffect(() => {
    window.addEventListener("pagehide", keeper.tell);
    document.addEventListener("visibilitychange", keeper.tell);
    return () => {
      window.removeEventListener("pagehide", keeper.tell);
      document.removeEventListener("visibilitychange", keeper.tell);
      keeper.tell();
    };
  }, [keeper]);
  return { keeper, text: keeper.text };
}
