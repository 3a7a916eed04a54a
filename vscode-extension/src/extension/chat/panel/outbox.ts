/**
 * Sends actions to the webview in batches, at most 30 a second, and none while the webview is
 * hidden.
 */

import type { ToPanel } from "../../../shared/messages.ts";
import type { Action } from "../../../shared/state/action.ts";
import type { Clock } from "../../clock.ts";

/** Milliseconds between two batches. */
export const BATCH_MS = 33;
/**
 * The maximum number of actions that wait for a slow webview; above this number, a snapshot is
 * smaller than the actions.
 */
export const MOST_WAITING = 4000;
/** Milliseconds after which an unconfirmed batch counts as lost. */
const LOST_MS = 2000;

/** The maximum number of turns and of characters in a state that is in the page itself. */
const MOST_FIRST_TURNS = 20;
const MOST_FIRST = 400_000;

/** Sends a message; resolves when the webview has received it. */
export type Post = (message: ToPanel) => Promise<unknown>;

/** The first message of a webview. */
export type Snapshot = Omit<Extract<ToPanel, { type: "snapshot" }>, "type">;

export class Outbox {
  readonly #post: Post;
  readonly #clock: Clock;
  readonly #snapshot: () => Snapshot;
  #waiting: Action[] = [];
  #revision = 0;
  #live = false;
  #stale = false;
  #busy = false;
  #timer: (() => void) | undefined;

  constructor(post: Post, clock: Clock, snapshot: () => Snapshot) {
    this.#post = post;
    this.#clock = clock;
    this.#snapshot = snapshot;
  }

  /**
   * The first message as JSON, for the page itself, or empty if the message is too long for that.
   */
  get first(): string {
    const snapshot = this.#snapshot();
    if (snapshot.state.turns.length > MOST_FIRST_TURNS) return "";
    const text = JSON.stringify({ type: "snapshot", ...snapshot } satisfies ToPanel);
    return text.length > MOST_FIRST ? "" : text;
  }

  /** Sends a snapshot at once, unless the webview has drawn the state of the revision `at`. */
  ready(at?: number): void {
    this.#live = true;
    this.#stale = at !== this.#snapshot().state.revision;
    this.#waiting = [];
    this.#busy = false;
    this.#timer?.();
    this.#timer = undefined;
    this.#flush();
  }

  /**
   * Called when the webview is gone or hidden; the webview gets no messages until it requests a
   * snapshot.
   */
  hidden(): void {
    this.#live = false;
    this.#waiting = [];
    this.#timer?.();
    this.#timer = undefined;
  }

  /** Queues a reduced action; `revision` is the revision of the state after the action. */
  add(action: Action, revision: number): void {
    if (!this.#live) return;
    this.#revision = revision;
    if (!this.#stale) this.#waiting.push(action);
    if (this.#waiting.length > MOST_WAITING) {
      this.#waiting = [];
      this.#stale = true;
    }
    this.#plan();
  }

  /** Sends a message that is not part of the state, at once, after the waiting actions. */
  send(message: ToPanel): void {
    if (!this.#live) return;
    this.#flush();
    void this.#post(message);
  }

  #plan(): void {
    this.#timer ??= this.#clock.after(BATCH_MS, () => {
      this.#timer = undefined;
      if (!this.#busy) this.#flush();
    });
  }

  #flush(): void {
    if (this.#stale) {
      this.#stale = false;
      this.#waiting = [];
      this.#carry({ type: "snapshot", ...this.#snapshot() });
    } else if (this.#waiting.length > 0) {
      const actions = this.#waiting;
      this.#waiting = [];
      this.#carry({ type: "actions", actions, revision: this.#revision });
    }
  }

  /**
   * Sends a message; the next batch waits until this message was received, so that a slow webview
   * is not overloaded.
   */
  #carry(message: ToPanel): void {
    this.#busy = true;
    let done = false;
    const taken = (): void => {
      if (done) return;
      done = true;
      giveUp();
      this.#busy = false;
      if (this.#live && (this.#stale || this.#waiting.length > 0)) this.#plan();
    };
    const giveUp = this.#clock.after(LOST_MS, taken);
    this.#post(message).then(taken, taken);
  }
}
