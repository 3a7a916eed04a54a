/** Sends the user's decision about a proposed plan. */
import type { Room } from "../room.ts";
import type { HandlersOf } from "../wire/bridge.ts";

/**
 * The handlers. The server opens the plan's document and stores the plan's state; events report the
 * outcome.
 */
export function planHandlers({ store, backend, ports, tab }: Room): HandlersOf<"plan"> {
  return {
    plan: async ({ action, text, words }) => {
      const { session } = store.state;
      if (session === null) return;
      switch (action) {
        case "open":
          await backend.execute("indwell.plan", { session, action, wait: true });
          return;
        case "approve": {
          // If the plan's document is open, the document's text is the plan, because the user may
          // have changed it.
          const { path } = await backend.request("indwell/plan", { session, action: "show" });
          const shown = path !== "" && ports.documents.isOpen(path) ? null : text;
          // The server chooses the mode in which the plan is carried out.
          if (tab !== undefined) tab.mode = null;
          await backend.request("indwell/plan", { session, action, text: shown });
          return;
        }
        case "reject":
          await backend.request("indwell/plan", { session, action, words });
          return;
        default:
          action satisfies never;
      }
    },
  };
}
