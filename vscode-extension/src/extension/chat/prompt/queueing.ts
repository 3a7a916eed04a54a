/** Changes the queue of prompts that the user saw. */
import type { QueueParams } from "../../../protocol.ts";
import type { Room } from "../room.ts";
import type { HandlersOf } from "../wire/bridge.ts";

/** The handler of the queue's buttons; the server refuses a change to a queue that has changed since. */
export function queueHandlers({ store, backend }: Room): HandlersOf<"queue"> {
  return {
    queue: async ({ action, id, to, text }) => {
      const params: QueueParams = { action, seq: store.state.queue.seq, id, to, text };
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
