/**
 * Sends prompts with their attachments. If sending fails, the text and its attachments return to
 * the composer.
 */
import type { PromptParams, Attachment as WireAttachment } from "../../../protocol.ts";
import { saidTwice } from "../../../shared/state/reduce-composer.ts";
import { isBusy, livedTurns, runningTurn } from "../../../shared/state/selectors.ts";
import type { Attachment } from "../../../shared/state/state.ts";
import {
  Cancel,
  draftOf,
  isCancelled,
  isGone,
  isOpenElsewhere,
  sentenceOf,
  unlessCancelled,
} from "../backend.ts";
import type { HandlersOf } from "../panel/bridge.ts";
import { OPEN_ELSEWHERE, type Room, tell } from "../room.ts";

/** Returns the params of `indwell/prompt`; the server adds chips of kind `context` itself. */
export function promptParams(
  text: string,
  session: string | null,
  attachments: readonly Attachment[],
  mode?: PromptParams["mode"],
): PromptParams {
  return {
    text,
    ...(session === null ? {} : { session }),
    ...(mode === undefined ? {} : { mode }),
    mentions: attachments.flatMap((one) => (one.kind === "mention" ? [one.path] : [])),
    attachments: attachments.flatMap(wireAttachment),
  };
}

/** Returns the pictures among the chips, to be shown with the turn. */
function picturesOf(
  attachments: readonly Attachment[],
): readonly { readonly label: string; readonly url: string }[] {
  return attachments.flatMap((one) =>
    one.kind === "image" ? [{ label: one.label, url: `data:${one.mime};base64,${one.data}` }] : [],
  );
}

function wireAttachment(one: Attachment): readonly WireAttachment[] {
  switch (one.kind) {
    case "context":
    case "mention":
      return [];
    case "image":
      return [{ kind: "image", label: one.label, mime: one.mime, data: one.data }];
    case "text":
      return [{ kind: "text", label: one.label, text: one.text }];
    case "problems":
      return [{ kind: "problems", label: one.label, uri: one.uri }];
    case "changes":
      return [{ kind: "changes", label: one.label }];
    default:
      return one satisfies never;
  }
}

/** The number of prompts whose attachments are remembered, in case their text is sent again. */
const REMEMBERED = 20;

/** Lets a prompt go out at once. */
const SENT = Promise.resolve("");

/** Stores sent text for a reload. */
interface Kept {
  /** Sets the composer's text. */
  setTyped(text: string): void;
  /**
   * Records a prompt that is being sent. The prompt is stored until its turn begins, or until the
   * server answers.
   */
  went(id: number, words: string, attachments: readonly Attachment[]): void;
}

export class Sending {
  readonly #room: Room;
  readonly #kept: Kept;
  readonly #cancels = new Map<number, Cancel>();
  /** The attachments of the newest prompts, by their text. */
  readonly #went = new Map<string, readonly Attachment[]>();
  #last = 0;
  /**
   * The prompt that begins a session, while it is being sent; later prompts go to the same session.
   */
  #beginning: number | null = null;
  /**
   * Returned texts that are not in the composer yet. All of them are put into the composer
   * together, in order.
   */
  #back: { readonly id: number; readonly text: string; readonly own: readonly Attachment[] }[] = [];
  #before: Promise<string> = SENT;

  constructor(room: Room, kept: Kept) {
    this.#room = room;
    this.#kept = kept;
  }

  /** The handlers of the composer's buttons. */
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

  /**
   * Makes prompts wait for `promise`, such as the resuming of a session. If its text is not empty,
   * the prompts that wait return to the composer with this text. The promise must not reject.
   */
  after(promise: Promise<string>): void {
    this.#before = promise;
    void promise.then(() => {
      if (this.#before === promise) this.#before = SENT;
    });
  }

  /** Send a prompt; does not wait for the end of its turn. */
  start(text: string, mode?: PromptParams["mode"]): void {
    this.#start(text, this.#room.store.state.attachments, mode);
  }

  /**
   * Send text that the user did not type: without the draft's attachments, and only once at a time.
   */
  alone(text: string, attachments: readonly Attachment[] = []): void {
    // The button was pressed twice.
    if (this.#room.store.state.outgoing.some((one) => one.words === text)) return;
    this.#start(text, attachments);
  }

  #start(text: string, attachments: readonly Attachment[], mode?: PromptParams["mode"]): void {
    const own = attachments.filter((one) => one.kind !== "context");
    if (text.trim() === "" && own.length === 0) return;
    void this.#prompt(text, own, mode);
  }

  /**
   * Send an earlier turn once more with its attachments; `first` is its text. If the
   * text was returned as a draft, it is removed from the composer; the rest of the draft stays.
   */
  again(text: string, mode: PromptParams["mode"] | undefined, first: string): void {
    this.#room.store.dispatch({ type: "draft", text, mode: "remove" });
    this.#start(text, this.#went.get(first) ?? [], mode);
  }

  /** Stop the running turn, or the prompt that is being sent. */
  async stop(): Promise<void> {
    const { state } = this.#room.store;
    const newest = state.outgoing.at(-1);
    if (runningTurn(state) === undefined && newest !== undefined) {
      this.#cancels.get(newest.id)?.cancel();
      return;
    }
    const { session } = state;
    if (session === null && this.#room.tab !== undefined) return; // nothing has begun here
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
      const held = await unlessCancelled(this.#before, cancel);
      if (held !== "" && mode === undefined) throw new Error(held);
      const { tab } = this.#room;
      const named = promptParams(text, this.#session(id), own, mode ?? tab?.mode ?? undefined);
      const params = tab === undefined ? named : { ...named, beside: true };
      for (const piece of twice) await backend.request("indwell/detach", { id: piece });
      const result = await backend.request("indwell/prompt", params, cancel);
      // Turn 0 means that the prompt was removed from the queue; no event returns the prompt's
      // text.
      if (result.turn === 0) this.#giveBack(id, result.draft || text, own);
      // If the text never reached the model, the event of the turn's end returns the text, and this
      // action returns the attachments.
      else store.dispatch({ type: "answered", id, attachments: result.draft === "" ? [] : own });
    } catch (error) {
      this.#failed(id, error, text, own);
    } finally {
      this.#cancels.delete(id);
      if (this.#beginning === id) this.#beginning = null;
    }
  }

  /**
   * Returns the session of a prompt; null means the session of the previous prompt, which has no id
   * yet.
   */
  #session(id: number): string | null {
    const { session } = this.#room.store.state;
    if (session !== null) return session;
    if (this.#beginning !== null) return null;
    // The request names the session, because another session may be current when a held queue
    // continues.
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
    // If the turn has begun, the event of the turn's end has everything, including the text.
    const draft = draftOf(error);
    if (!hasBegun) this.#giveBack(id, draft ?? text, own);
    else store.dispatch({ type: "answered", id, attachments: draft ? own : [] });
    if (hasBegun || isCancelled(error) || isGone(error)) return;
    if (isOpenElsewhere(error)) tell(this.#room, "warning", OPEN_ELSEWHERE);
    else tell(this.#room, "error", sentenceOf(error));
  }

  #giveBack(id: number, text: string, own: readonly Attachment[]): void {
    this.#back.push({ id, text, own });
    // A server that ends answers all waiting requests at once.
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

  /** Sends text to the running turn; if that turn has ended, the text becomes a new prompt. */
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
