/**
 * Receives the server's events: in order, without gaps, for the session that the panel shows.
 * Consecutive text deltas become one event, as the server stores them.
 */
import type { EventParams } from "../../../protocol.ts";
import { runningTurn } from "../../../shared/state/selectors.ts";
import type { Room } from "../room.ts";
import type { Pages } from "./pages.ts";

/** Joins two events, with the number of the second; null if they do not belong together. */
function joined(first: EventParams, second: EventParams): EventParams | null {
  const [old, now] = [first.event, second.event];
  if (first.session !== second.session || old.turn !== now.turn) return null;
  switch (old.type) {
    case "text":
      if (now.type !== "text" || now.restart) return null;
      return { ...second, event: { ...old, text: old.text + now.text } };
    case "thinking":
      if (now.type !== "thinking") return null;
      return { ...second, event: { ...old, text: old.text + now.text } };
    case "toolOutput":
      if (now.type !== "toolOutput" || now.id !== old.id) return null;
      return { ...second, event: { ...old, text: old.text + now.text } };
    default:
      return null;
  }
}

/** Returns whether more events of the same kind may follow at once. */
function isPiece({ event }: EventParams): boolean {
  return event.type === "text" || event.type === "thinking" || event.type === "toolOutput";
}

/**
 * The maximum number of events that wait while missed events are fetched; further events are dropped and fetched
 * at the end.
 */
const MOST_HELD = 20_000;
/**
 * Milliseconds for which text deltas are collected: at 10,000 a second, reducing each alone is most
 * of the work.
 */
const GATHER_MS = 15;

export class Intake {
  readonly #room: Pick<Room, "store" | "backend" | "clock" | "board" | "tab">;
  readonly #pages: Pages;
  readonly #failed: (error: unknown) => void;
  /** The number of the next expected event; null accepts any. */
  #expected: number | null = null;
  #held: EventParams[] | null = null;
  #overflown = false;
  #era = 0;
  /** Text deltas that were received, but not reduced yet. */
  #run: EventParams | null = null;
  #later: (() => void) | undefined;

  constructor(
    room: Pick<Room, "store" | "backend" | "clock" | "board" | "tab">,
    pages: Pages,
    failed: (error: unknown) => void,
  ) {
    this.#room = room;
    this.#pages = pages;
    this.#failed = failed;
  }

  /** Starts from the beginning for a new server; waiting events are dropped. */
  reset(): void {
    this.flush();
    this.#era += 1;
    this.#expected = null;
    this.#held = null;
    this.#overflown = false;
  }

  /** Reduces the waiting text deltas. */
  flush(): void {
    this.#later?.();
    this.#later = undefined;
    const run = this.#run;
    this.#run = null;
    if (run !== null) this.#dispatch(run);
  }

  /**
   * Shows a session with its newest turns in the panel; does nothing if the panel already shows the
   * session.
   */
  async open(session: string | null, again = false): Promise<void> {
    const { store, board } = this.#room;
    const isOther = store.state.session !== session;
    if (!isOther && !again) return;
    if (isOther || session === null) {
      this.reset();
      store.dispatch({ type: "opened", session, left: true });
    }
    board.seen(session);
    if (session === null) return;
    const since = isOther ? board.since(session) : null;
    if (since === null) await this.reload(session);
    else await this.#catchUp(session, since);
  }

  /**
   * Shows a session whose turn has been running since the event `since`, with all of the turn's
   * text.
   */
  async #catchUp(session: string, since: number): Promise<void> {
    const { store, backend, clock } = this.#room;
    const era = this.#era;
    this.#held = [];
    try {
      const missed = await backend.request("indwell/events", { session, after: since - 1 });
      const start = missed.events.find((one) => one.event.type === "turnStarted");
      if (era !== this.#era) return;
      if (!missed.complete || start === undefined) await this.reload(session);
      else {
        const { turn } = start.event;
        await this.#pages.newest(session, () => since - 1, turn);
        if (era !== this.#era) return;
        store.dispatch({ type: "missed", session, events: missed.events, at: clock.now() });
      }
    } catch (error) {
      if (era !== this.#era) return;
      this.#held = null;
      throw error;
    }
    if (era === this.#era) this.#drain(session);
  }

  /** Fetches the newest turns again. */
  async reload(session: string): Promise<void> {
    const era = this.#era;
    this.flush();
    await this.#pages.newest(session, () => {
      this.flush();
      return this.#room.store.state.seq;
    });
    if (era === this.#era && this.#expected !== null) {
      this.#expected = Math.max(this.#expected, this.#room.store.state.seq + 1);
    }
  }

  /** Handles one event. */
  take(params: EventParams): void {
    const { session } = this.#room.store.state;
    if (params.session !== session) {
      // The panel follows the running turn, whatever began it (a code action, a chat document), but
      // keeps showing a turn until it has ended.
      if (params.event.type !== "turnStarted") return;
      if (this.#room.tab !== undefined) {
        if (!this.#isOwnBeginning(params.event.words)) return;
        if (!this.#room.board.claim(params.session)) return;
      } else {
        this.#begunElsewhere(params.session, params.event.words);
        if (this.#room.board.isLeft(params.session)) return;
        if (this.#isShownRunning()) return;
      }
      this.reset();
      this.#room.store.dispatch({ type: "opened", session: params.session });
      if (params.event.turn > 1) this.reload(params.session).catch(this.#failed);
    }
    if (this.#held !== null) this.#hold(params);
    else if (this.#expected !== null && params.seq > this.#expected) this.#recover(params);
    else this.#reduce(params);
  }

  /**
   * Records that a prompt of another session has begun, because the user left a new session before
   * the session had an id.
   */
  #begunElsewhere(session: string, words: string): void {
    const { store, board } = this.#room;
    const sent = store.state.outgoing.find(
      (one) => one.words === words && (one.session === session || one.session === ""),
    );
    if (sent === undefined) return;
    if (sent.session === "") board.left(session);
    store.dispatch({ type: "answered", id: sent.id, attachments: [] });
  }

  /** Returns whether a prompt of this tab began the session. */
  #isOwnBeginning(words: string): boolean {
    const { session, outgoing } = this.#room.store.state;
    return session === null && outgoing.some((one) => one.session === null && one.words === words);
  }

  /** Returns whether the shown turn is still running; its end may wait for missed events. */
  #isShownRunning(): boolean {
    const hasEnded = this.#held?.some((one) => one.event.type === "turnFinished") ?? false;
    return !hasEnded && runningTurn(this.#room.store.state) !== undefined;
  }

  #reduce(params: EventParams): void {
    if (params.seq <= (this.#run?.seq ?? this.#room.store.state.seq)) return;
    this.#expected = params.seq + 1;
    const longer = this.#run === null ? null : joined(this.#run, params);
    if (longer !== null) {
      this.#run = longer;
      return;
    }
    this.flush();
    if (isPiece(params)) {
      this.#run = params;
      this.#later = this.#room.clock.after(GATHER_MS, () => this.flush());
    } else this.#dispatch(params);
  }

  #dispatch({ session, seq, event }: EventParams): void {
    const { store, clock } = this.#room;
    store.dispatch({ type: "event", session, seq, event, at: clock.now() });
    if (event.type === "turnFinished") this.#repair(session, event.turn);
  }

  /** Reads a turn with missed deltas from the log once the log is complete. */
  #repair(session: string, number: number): void {
    const turn = this.#room.store.state.turns.findLast((one) => one.number === number);
    if (turn?.whole === false) this.reload(session).catch(this.#failed);
  }

  #hold(params: EventParams): void {
    if (this.#held !== null && this.#held.length < MOST_HELD) this.#held.push(params);
    else this.#overflown = true;
  }

  #recover(params: EventParams): void {
    this.flush();
    this.#held = [params];
    const era = this.#era;
    this.#fetch(params.session, era).catch((error: unknown) => {
      if (era !== this.#era) return; // The events that wait now belong to a later request.
      this.#held = null;
      this.#failed(error);
    });
  }

  async #fetch(session: string, era: number): Promise<void> {
    const { store, backend, clock } = this.#room;
    const after = store.state.seq;
    const missed = await backend.request("indwell/events", { session, after });
    if (era !== this.#era) return;
    if (missed.complete) {
      store.dispatch({ type: "missed", session, events: missed.events, at: clock.now() });
      const finished = missed.events.findLast((one) => one.event.type === "turnFinished");
      if (finished !== undefined) this.#repair(session, finished.event.turn);
    } else {
      // The page contains all earlier events; the rest of a turn is repaired when the turn ends.
      const newest = (): number => Math.max(missed.next, this.#held?.at(-1)?.seq ?? 0);
      await this.#pages.newest(session, newest);
      if (era !== this.#era) return;
    }
    this.#drain(session);
  }

  #drain(session: string): void {
    const held = this.#held ?? [];
    this.#held = null;
    this.#expected = this.#room.store.state.seq + 1;
    for (const params of held) this.take(params);
    if (this.#overflown) {
      this.#overflown = false;
      this.reload(session).catch(this.#failed);
    }
  }
}
