/** Events as tests write them: of the main conversation unless they say otherwise. */
import type { Event } from "../../../src/protocol.ts";

type Short<One> = One extends Event ? Omit<One, "agent"> & { readonly agent?: string } : never;

/** An event that may leave out whose it is. */
export type Told = Short<Event>;

/** The event, whole. */
export function told(event: Told): Event {
  const agent = event.agent ?? "";
  // A spread of a union loses which field belongs to which tag; nothing but `agent` is added.
  return { ...event, agent } as Event;
}
