/** Requests the state of background commands, and stops commands. */
import type { Room } from "../room.ts";
import type { HandlersOf } from "../wire/bridge.ts";

/** The handler; the answer has the current output, which no event contains. */
export function commandHandlers({ store, backend }: Room): HandlersOf<"commands"> {
  return {
    commands: async ({ stop }) => {
      const { session, connection } = store.state;
      if (session === null || connection.kind !== "ready") return;
      const { commands } = await backend.request("indwell/commands", { session, stop });
      store.dispatch({ type: "commands", session, commands });
    },
  };
}
