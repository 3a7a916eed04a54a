/** Reduces the queue: prompts that wait for the running turn. */
import type { QueueChanged, QueueResult } from "../protocol.ts";
import type { PanelState } from "./state.ts";

type Queue = PanelState["queue"];

/** Reduces the queue of an event; each row keeps its known session and attachments. */
export function queueTold(queue: Queue, event: QueueChanged): Queue {
  if (event.seq < queue.seq) return queue;
  const known = new Map(queue.waiting.map((row) => [row.id, row]));
  const waiting = event.waiting.map((row) => ({
    ...row,
    session: known.get(row.id)?.session ?? null,
    attached: known.get(row.id)?.attached ?? [],
  }));
  return { seq: event.seq, held: event.held, waiting };
}

/**
 * Reduces the queue of an answer of the server; an answer that is older than the last event is
 * ignored.
 */
export function queueAnswered(queue: Queue, result: QueueResult): Queue {
  return result.seq < queue.seq ? queue : { ...result };
}
