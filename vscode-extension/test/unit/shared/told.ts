/** Events as tests write them: of the main conversation unless they say otherwise. */
import type { Event, TurnFinished } from "../../../src/protocol.ts";

/** Fields that tests may leave out, as most events are told without them. */
const DEFAULTS = { agent: "", arguments: "", result: null } as const;
type Defaulted = keyof typeof DEFAULTS;

type Short<One> = One extends Event
  ? Omit<One, Defaulted> & Partial<Pick<One, Extract<keyof One, Defaulted>>>
  : never;

/** An event that may leave out whose it is, and what is only read back. */
export type Told = Short<Event>;

/** The event, whole. */
export function told(event: Told): Event {
  const { agent, arguments: given, result } = DEFAULTS;
  const more =
    event.type === "toolStarted"
      ? { arguments: given }
      : event.type === "toolFinished"
        ? { result }
        : {};
  // A spread of a union loses which field belongs to which tag; nothing but defaults is added.
  return { agent, ...more, ...event } as Event;
}

/** The end of turn 1. */
export function finished(ending: TurnFinished["ending"]): Event {
  const usage = { input: 1, cached: 0, cache_write: 0, output: 1, reported: true };
  const counts = { rounds: 1, usage, cost: null, seconds: 1, changes: [], figures: {} };
  const words = { message: "", answer: "", draft: "", verified: "" };
  const state = { retryable: false, outgrown: false, toReview: 0 };
  return told({ type: "turnFinished", turn: 1, ending, ...counts, ...words, ...state });
}
