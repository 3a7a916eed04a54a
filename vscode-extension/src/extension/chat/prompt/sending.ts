/** Sends what was typed. Whatever goes wrong, the words and what went with them come back. */
import type { PromptParams } from "../../../protocol.ts";
import { saidTwice } from "../../../shared/reduce-composer.ts";
import { isBusy, livedTurns, runningTurn } from "../../../shared/selectors.ts";
import type { Attachment } from "../../../shared/state.ts";
import { draftOf, isCancelled, isGone, isOpenElsewhere, sentenceOf } from "../backend.ts";
import { Cancel, unlessCancelled } from "../cancel.ts";
import { OPEN_ELSEWHERE, type Room, tell } from "../room.ts";
import type { HandlersOf } from "../wire/bridge.ts";
import { picturesOf, promptParams } from "./wire-prompt.ts";

/** Prompts whose attachments are remembered, for their words being sent again. */
const REMEMBERED = 20;

/** Keeps what the composer gave away, for a reload. */
export interface Kept {
  /** The composer's text. */
  setTyped(text: string): void;
  /** A prompt goes out; it is kept until it has begun, or was answered. */
  went(id: number, words: string, attachments: readonly Attachment[]): void;
}

export class Sending {
  readonly #room: Room;
  readonly #kept: Kept;
  readonly #cancels = new Map<number, Cancel>();
  /** By their words: what went with the newest prompts. */
  readonly #went = new Map<string, readonly Attachment[]>();
  #last = 0;
  /** The prompt that begins a session, while it is on its way: those behind it go to the same. */
  #beginning: number | null = null;
  /** What came back and is not in the composer yet: it goes there together, in order. */
  #back: { readonly id: number; readonly text: string; readonly own: readonly Attachment[] }[] = [];
  #before: Promise<unknown> = Promise.resolve();

  constructor(room: Room, kept: Kept) {
    this.#room = room;
    this.#kept = kept;
  }

  /** The handlers of what the composer's buttons say. */
  handlers(): HandlersOf<"send" | "stop" | "retry"> {
    return {
      send: async ({ text, how }) => {
        if (how === "alone") {
          this.alone(text);
          return;
        }
        this.#kept.setTyped("");
        if (how === "steer") await this.#steer(text);
        else this.start(text);
      },
      stop: () => this.stop(),
      retry: () => {
        const last = livedTurns(this.#room.store.state).at(-1);
        if (last === undefined || isBusy(this.#room.store.state)) return;
        this.#room.store.dispatch({ type: "banner", banner: null });
        this.again(last.words, undefined, last.words);
      },
    };
  }

  /** Prompts wait for this first: a session that is being taken up. It must not reject. */
  after(promise: Promise<unknown>): void {
    this.#before = promise;
  }

  /** Send a prompt; does not wait for the end of its turn. */
  start(text: string, mode?: PromptParams["mode"]): void {
    this.#start(text, this.#room.store.state.attachments, mode);
  }

  /** Send words that were not typed: nothing of the draft goes with them, and not twice at once. */
  alone(text: string): void {
    // A button that was pressed twice.
    if (this.#room.store.state.outgoing.some((one) => one.words === text)) return;
    this.#start(text, []);
  }

  #start(text: string, attachments: readonly Attachment[], mode?: PromptParams["mode"]): void {
    const own = attachments.filter((one) => one.kind !== "context");
    if (text.trim() === "" && own.length === 0) return;
    void this.#prompt(text, own, mode);
  }

  /**
   * Send an earlier turn once more, `first` being its words: with what went along then. Where the
   * words came back as a draft, they leave the composer; all else of the draft stays.
   */
  again(text: string, mode: PromptParams["mode"] | undefined, first: string): void {
    this.#room.store.dispatch({ type: "draft", text, mode: "remove" });
    this.#start(text, this.#went.get(first) ?? [], mode);
  }

  /** Stop the running turn, or what is just being sent. */
  async stop(): Promise<void> {
    const { state } = this.#room.store;
    const newest = state.outgoing.at(-1);
    if (runningTurn(state) === undefined && newest !== undefined) {
      this.#cancels.get(newest.id)?.cancel();
      return;
    }
    const { session } = state;
    await this.#room.backend.execute("indwell.cancel", session === null ? {} : { session });
  }

  async #prompt(
    text: string,
    own: readonly Attachment[],
    mode: PromptParams["mode"] | undefined,
  ): Promise<void> {
    const { store, backend } = this.#room;
    this.#last += 1;
    const id = this.#last;
    const cancel = new Cancel();
    this.#cancels.set(id, cancel);
    const twice = store.state.context === null ? [] : saidTwice(own, store.state.context);
    this.#remember(text, own);
    this.#kept.went(id, text, own);
    const taken = own.map((one) => one.id);
    store.dispatch({ type: "sent", id, words: text, images: picturesOf(own), taken });
    try {
      await unlessCancelled(this.#before, cancel);
      const params = promptParams(text, this.#session(id), own, mode);
      for (const piece of twice) await backend.request("indwell/detach", { id: piece });
      const result = await backend.request("indwell/prompt", params, cancel);
      // Turn 0: it was taken out of the queue, and no event gives its words back.
      if (result.turn === 0) this.#giveBack(id, result.draft || text, own);
      // Words that never reached the model come back by the turn's end; what went with them, here.
      else store.dispatch({ type: "answered", id, attachments: result.draft === "" ? [] : own });
    } catch (error) {
      this.#failed(id, error, text, own);
    } finally {
      this.#cancels.delete(id);
      if (this.#beginning === id) this.#beginning = null;
    }
  }

  /** Where a prompt goes; null: where the one before goes, whose session has no name yet. */
  #session(id: number): string | null {
    const { session } = this.#room.store.state;
    if (session !== null) return session;
    if (this.#beginning !== null) return null;
    // Named, as the current one may be another by then: of a queue that is held.
    this.#beginning = id;
    return "new";
  }

  #remember(text: string, own: readonly Attachment[]): void {
    this.#went.delete(text);
    if (own.length > 0) this.#went.set(text, own);
    for (const [oldest] of this.#went) {
      if (this.#went.size <= REMEMBERED) return;
      this.#went.delete(oldest);
    }
  }

  #failed(id: number, error: unknown, text: string, own: readonly Attachment[]): void {
    const { store } = this.#room;
    const hasBegun = !store.state.outgoing.some((one) => one.id === id);
    // Of a turn that has begun, the event of its end tells all that there is, words included.
    const draft = draftOf(error);
    if (!hasBegun) this.#giveBack(id, draft ?? text, own);
    else store.dispatch({ type: "answered", id, attachments: draft ? own : [] });
    if (hasBegun || isCancelled(error) || isGone(error)) return;
    if (isOpenElsewhere(error)) tell(this.#room, "warning", OPEN_ELSEWHERE);
    else tell(this.#room, "error", sentenceOf(error));
  }

  #giveBack(id: number, text: string, own: readonly Attachment[]): void {
    this.#back.push({ id, text, own });
    // A server that goes answers all that waits at once.
    if (this.#back.length === 1) this.#room.clock.after(0, () => this.#giveAllBack());
  }

  #giveAllBack(): void {
    const { store } = this.#room;
    const back = this.#back.toSorted((one, other) => one.id - other.id);
    this.#back = [];
    for (const { id, own } of back) store.dispatch({ type: "answered", id, attachments: own });
    const words = back.flatMap(({ text }) => (text.trim() === "" ? [] : [text]));
    if (words.length > 0)
      store.dispatch({ type: "draft", text: words.join("\n\n"), mode: "replace" });
  }

  /** Words for the running turn; if it ended meanwhile, a prompt of their own. */
  async #steer(text: string): Promise<void> {
    if (text.trim() === "") return;
    const { store, backend } = this.#room;
    const turn = runningTurn(store.state);
    if (turn === undefined) {
      this.start(text);
      return;
    }
    try {
      await backend.request("indwell/steer", { text, session: turn.session });
    } catch (error) {
      if (!isGone(error) && runningTurn(store.state) === undefined) {
        this.start(text);
        return;
      }
      store.dispatch({ type: "draft", text: draftOf(error) ?? text, mode: "replace" });
      if (!isCancelled(error) && !isGone(error)) tell(this.#room, "error", sentenceOf(error));
    }
  }
}
