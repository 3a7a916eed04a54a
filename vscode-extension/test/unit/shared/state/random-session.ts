/**
 * A fake server that runs random turns, numbers their events, and keeps a log as the real server
 * does.
 */
import type { Event, EventParams, SessionResult, TurnRow } from "../../../../src/protocol.ts";
import { usage } from "../../fixtures.ts";
import { type EventFields, makeEvent } from "./make-event.ts";

/** Generates numbers from 0 to 1 that depend only on the seed (mulberry32). */
export function random(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
  };
}

const USAGE = usage(10, 3, 2);

export class RandomServer {
  readonly session: string;
  readonly events: EventParams[] = [];
  readonly turns: TurnRow[] = [];
  readonly #next: () => number;
  #words = 0;
  #agents = 0;

  constructor(session: string, next: () => number) {
    this.session = session;
    this.#next = next;
  }

  /** Runs a turn and yields each event, so that a test can stop at any point. */
  *turn(): Generator<EventParams> {
    const turn = this.turns.length + 1;
    const words = `prompt ${turn}`;
    this.turns.push({ turn, at: "", left: false, cut: 0, events: [] });
    yield this.#record({
      type: "turnStarted",
      turn,
      title: words,
      words,
      model: "m",
      attached: [],
      mode: "review",
    });
    const rounds = 1 + Math.floor(this.#next() * 3);
    for (let round = 1; round <= rounds; round += 1) yield* this.#round(turn, round);
    yield this.#record({
      type: "turnFinished",
      turn,
      ending: "done",
      message: "",
      answer: "",
      draft: "",
      rounds,
      usage: USAGE,
      cost: 0.5,
      seconds: 1,
      changes: [],
      retryable: false,
      outgrown: false,
      figures: {},
      toReview: 0,
      verified: "",
    });
  }

  /** The newest turns of the log, or the newest turns before the turn `before`. */
  page(before: number | null, limit: number): SessionResult {
    const wanted = this.turns.filter((one) => before === null || one.turn < before);
    return {
      session: this.session,
      title: "",
      at: "",
      model: "m",
      total: this.turns.length,
      turns: wanted.slice(-limit),
      more: wanted.length > limit,
      notices: [],
      todo: [],
      plan: null,
    };
  }

  *#round(turn: number, round: number): Generator<EventParams> {
    if (this.#next() < 0.3) {
      // The connection broke: the server withdraws the text so far.
      yield this.#emit({ type: "text", turn, text: "to be forgotten", restart: false });
      if (this.#next() < 0.5) yield this.#usage(turn, round);
      yield this.#emit({ type: "notice", turn, level: "warning", message: "trying again" });
      yield this.#emit({ type: "text", turn, text: "", restart: true });
    }
    const complete: EventFields[] = [];
    if (this.#next() < 0.5) {
      complete.push({ type: "thinking", turn, text: yield* this.#stream(turn, "thinking") });
    }
    if (this.#next() < 0.9) {
      const text = yield* this.#stream(turn, "text");
      complete.push({ type: "text", turn, text, restart: false });
    }
    for (const one of complete) this.#log(one);
    yield this.#usage(turn, round);
    const calls = Math.floor(this.#next() * 3);
    for (let call = 0; call < calls; call += 1) yield* this.#call(turn, call);
  }

  *#stream(turn: number, type: "text" | "thinking"): Generator<EventParams, string> {
    let all = "";
    const count = 1 + Math.floor(this.#next() * 5);
    for (let index = 0; index < count; index += 1) {
      this.#words += 1;
      const text = `w${this.#words} `;
      all += text;
      yield this.#emit(
        type === "text" ? { type, turn, text, restart: false } : { type, turn, text },
      );
    }
    return all;
  }

  *#call(turn: number, call: number): Generator<EventParams> {
    const id = `call_${call}`; // the same in every round, as some endpoints do
    const name = this.#next() < 0.3 ? "agent" : "bash";
    yield this.#record({ type: "toolStarted", turn, id, name, target: "ls", arguments: "{}" });
    if (name === "agent") yield* this.#subAgent(turn, id);
    else if (this.#next() < 0.5) yield this.#emit({ type: "toolOutput", turn, id, text: "out " });
    const isError = this.#next() < 0.3;
    const end = { isError, figure: "1", seconds: 2, message: "" };
    yield this.#record({ type: "toolFinished", turn, id, name, target: "ls", ...end });
  }

  /**
   * Some calls of a sub-agent. The server logs a read when the read ends, a command when it begins.
   */
  *#subAgent(turn: number, agent: string): Generator<EventParams> {
    this.#agents += 1;
    const calls = Math.floor(this.#next() * 3);
    for (let call = 0; call < calls; call += 1) {
      const fields = { id: `a${this.#agents}-${call}`, name: "bash", target: "ls" };
      const begin: EventFields = { type: "toolStarted", turn, ...fields, agent };
      const isRead = this.#next() < 0.5;
      yield isRead ? this.#emit(begin) : this.#record(begin);
      const end = { figure: "1", seconds: 2, message: "" };
      if (isRead) this.#log(begin);
      yield this.#record({
        type: "toolFinished",
        turn,
        ...fields,
        isError: false,
        ...end,
        agent,
      });
    }
  }

  #usage(turn: number, round: number): EventParams {
    const figures = { round, usage: USAGE, cost: 0.1, total: USAGE, totalCost: 0.1 };
    return this.#record({ type: "usageReported", turn, ...figures });
  }

  #emit(event: EventFields): EventParams {
    const params = { session: this.session, seq: this.events.length + 1, event: makeEvent(event) };
    this.events.push(params);
    return params;
  }

  /** Logs an event and sends it. */
  #record(event: EventFields): EventParams {
    this.#log(event);
    return this.#emit(event);
  }

  #log(event: EventFields): void {
    const row = this.turns[event.turn - 1];
    if (row === undefined) throw new Error(`no turn ${event.turn}`);
    const events: readonly Event[] = [...row.events, makeEvent(event)];
    this.turns[event.turn - 1] = { ...row, events };
  }
}
