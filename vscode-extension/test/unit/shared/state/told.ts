/** Events as tests write them: of the main conversation unless they say otherwise. */
import assert from "node:assert/strict";
import schema from "../../../../../docs/protocol.schema.json";
import type { Event, TurnFinished } from "../../../../src/protocol.ts";

type Short<One> = One extends Event ? Pick<One, "type" | "turn"> & Partial<One> : never;

/** An event that leaves out what does not matter to a test. */
export type Told = Short<Event>;

/** The event with the defaults of the schema for what was left out. */
export function told(event: Told): Event {
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

/** The end of turn 1. */
export function finished(ending: TurnFinished["ending"]): Event {
  const usage = {
    input: 1,
    cached: 0,
    cache_write: 0,
    output: 1,
    reported: true,
    thinking: 0,
    cache_hour: 0,
  };
  const counts = { rounds: 1, usage, cost: null, seconds: 1 };
  const words = { message: "", answer: "", draft: "" };
  return told({ type: "turnFinished", turn: 1, ending, ...counts, ...words });
}
