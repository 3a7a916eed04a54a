/** A plan that the user changes before it is carried out. */
import type { Room } from "../room.ts";
import type { HandlersOf } from "../wire/bridge.ts";
import type { Sending } from "./sending.ts";

const CARRY_OUT = "Carry Out the Plan";

/** Opens the plan as a document; its words are sent when the user says that they stand. */
export function planHandlers(room: Room, sending: Sending): HandlersOf<"editPlan"> {
  const open = new Set<string>();
  return {
    editPlan: async ({ text }) => {
      if (open.has(text)) return; // its document stands there
      open.add(text);
      const words = await room.ports.documents
        .edit(text, "markdown", CARRY_OUT)
        .finally(() => open.delete(text));
      if (words === null || words.trim() === "") return;
      await room.backend.execute("indwell.mode", { mode: "review" });
      sending.alone(`Carry out this plan:\n\n${words}`);
    },
  };
}
