/** Holds what is typed, outside of any component: a composer that is made anew finds every character. No DOM. */
import { withDraft } from "../../shared/draft.ts";
import { MOST_WORDS } from "../../shared/messages.ts";
import type { PanelState } from "../../shared/state.ts";
import type { Channel } from "../channel.ts";
import type { KeptWords } from "../kept-words.ts";
import type { Post } from "../view-props.ts";
import { AT_DRAFT, edited, type HistoryPlace } from "./prompt-history.ts";

/** Characters up to which the host is told with each key: a panel may be hidden right behind the last one. */
const AT_ONCE = 20_000;
/** Milliseconds without a key before the host is told of longer texts. */
const TOLD_AFTER = 200;

/** `caret`: where it stands after a change that did not come from the text box itself (UTF-16 offset), else null. */
export type TextChange = (text: string, caret: number | null) => void;

/** What the keeper needs of the line to the host. */
export type DraftChannel = Pick<
  Channel,
  "typed" | "typedAt" | "kept" | "drafted" | "onSnapshot" | "onDraft"
>;

/** The unsent words of one panel, and which drafts of the host are in them. */
export class DraftKeeper {
  text: string;
  /** Where the up and down keys have led. */
  place: HistoryPlace = AT_DRAFT;
  readonly #post: Post;
  readonly #listeners = new Set<TextChange>();
  #taken: number;
  readonly #kept: KeptWords;
  #told: string;
  /** Counts the changes, in step with the host's copy. */
  #at: number;
  #composing = false;
  #waiting: readonly PanelState["draft"][] = [];
  #timer: ReturnType<typeof setTimeout> | null = null;

  constructor(channel: DraftChannel, post: Post) {
    const { typed } = channel.kept;
    this.#kept = channel.kept;
    this.#told = channel.typed;
    this.#at = channel.typedAt;
    // Of two copies the one that was changed more often is the newer one.
    const isNewer = typed !== null && typed.at > channel.typedAt;
    this.text = isNewer ? typed.text : channel.typed;
    if (isNewer) this.#at = typed.at;
    this.#taken = channel.drafted;
    channel.onDraft((draft) => this.take(draft));
    this.#post = post;
    // Words that the host kept are older than those here, so they count only where there are none.
    channel.onSnapshot((typed) => {
      const isNewer = channel.typedAt >= this.#at;
      this.#at = Math.max(this.#at, channel.typedAt);
      this.#told = typed;
      if (isNewer && this.text === "" && this.#timer === null) this.put(typed);
      else this.#changed();
    });
    this.tell();
  }

  /** Told of each change; returns how to stop. */
  onChange(listener: TextChange): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** What the text box holds now, after the user typed. */
  typed(text: string): void {
    this.text = text;
    this.place = edited(this.place);
    for (const listener of this.#listeners) listener(text, null);
    this.#changed();
  }

  /** While an input method composes, nothing else may change the text: a draft waits for its end. */
  hold(composing: boolean): void {
    this.#composing = composing;
    const waiting = this.#waiting;
    if (composing) return;
    this.#waiting = [];
    for (const draft of waiting) this.take(draft);
  }

  /** Puts other words into the text box. */
  put(text: string, caret = text.length): void {
    this.text = text;
    for (const listener of this.#listeners) listener(text, caret);
    this.#changed();
  }

  /** Takes a draft of the host in, once for each id. */
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

  /** The words went out: nothing is left, and the host knows at once. */
  sent(): void {
    this.place = {
      ...AT_DRAFT,
      kept: this.place.unsent.trim() === "" ? this.place.kept : edited(this.place).kept,
    };
    this.put("");
    this.tell();
  }

  /** Tells the host now what it does not know. */
  readonly tell = (): void => {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
    if (this.text === this.#told) return;
    this.#told = this.text;
    this.#at += 1;
    // One that is too long for a message is kept here alone.
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

/** The keeper of this panel; the same for as long as its channel lives. */
export function keeperOf(channel: Channel, post: Post): DraftKeeper {
  const known = keepers.get(channel);
  if (known !== undefined) return known;
  const keeper = new DraftKeeper(channel, post);
  keepers.set(channel, keeper);
  return keeper;
}
