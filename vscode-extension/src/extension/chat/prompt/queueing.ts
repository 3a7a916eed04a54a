/** Changes the queue of waiting prompts, as the user saw the queue. */
import type { QueueParams } from "../../../protocol.ts";
import { ownWaiting } from "../../../shared/selectors.ts";
import type { Room } from "../room.ts";
import type { HandlersOf } from "../wire/bridge.ts";

/** The handler of the queue's buttons; the server refuses a change to a queue that has changed since. */
export function queueHandlers({ store, backend }: Room): HandlersOf<"queue"> {
  return {
    queue: async ({ action, id, to, text }) => {
      const { queue } = store.state;
      const own = ownWaiting(store.state).waiting;
      // The panel shows only the prompts of its session, but the server counts the prompts of all
      // sessions.
      const row = to === null ? undefined : own[Math.min(to, own.length - 1)];
      const place = row === undefined ? to : queue.waiting.indexOf(row);
      const params: QueueParams = { action, seq: queue.seq, id, to: place, text };
      try {
        const queue = await backend.request("indwell/queue", params);
        store.dispatch({ type: "queue", queue });
      } catch (error) {
        const queue = await backend.request("indwell/queue", {});
        store.dispatch({ type: "queue", queue });
        throw error;
      }
    },
  };
}
