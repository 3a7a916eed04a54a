/** Builds protocol events from the fields that matter to a test. */
import assert from "node:assert/strict";
import schema from "../../../../../docs/protocol.schema.json";
import type { Event, TurnFinished } from "../../../../src/protocol.ts";
import { usage } from "../../fixtures.ts";

type Short<One> = One extends Event ? Pick<One, "type" | "turn"> & Partial<One> : never;

/** The fields of an event that a test sets. */
export type EventFields = Short<Event>;

/** Builds an event with the schema's defaults for all other fields. */
export function makeEvent(event: EventFields): Event {
  // A spread of a union loses which field belongs to which tag.
  return { ...defaults(event.type), ...event } as Event;
}

function defaults(type: Event["type"]): Readonly<Record<string, unknown>> {
  const fields = Object.entries<object>(schema.$defs)
    .filter(([name]) => name.startsWith("event."))
    .map(
      ([, one]): Readonly<Record<string, object>> =>
        "properties" in one ? Object(one.properties) : {},
    )
    .find((one) => one["type"] !== undefined && JSON.stringify(one["type"]).includes(`"${type}"`));
  assert.ok(fields !== undefined, `the schema has ${type}`);
  return Object.fromEntries(
    Object.entries(fields).flatMap(([name, field]) =>
      "default" in field ? [[name, field.default]] : [],
    ),
  );
}

/** Builds the end of turn 1. */
export function finishedTurn(ending: TurnFinished["ending"]): Event {
  const counts = { rounds: 1, usage: usage(1, 1), cost: null, seconds: 1 };
  const words = { message: "", answer: "", draft: "" };
  return makeEvent({ type: "turnFinished", turn: 1, ending, ...counts, ...words });
}
