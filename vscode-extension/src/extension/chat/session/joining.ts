/** Joins consecutive text deltas into one event, as the server stores them. Pure. */
import type { EventParams } from "../../../protocol.ts";

/** Joins two events, with the number of the second; null if they do not belong together. */
export function joined(first: EventParams, second: EventParams): EventParams | null {
  const [old, now] = [first.event, second.event];
  if (first.session !== second.session || old.turn !== now.turn) return null;
  switch (old.type) {
    case "text":
      if (now.type !== "text" || now.restart) return null;
      return { ...second, event: { ...old, text: old.text + now.text } };
    case "thinking":
      if (now.type !== "thinking") return null;
      return { ...second, event: { ...old, text: old.text + now.text } };
    case "toolOutput":
      if (now.type !== "toolOutput" || now.id !== old.id) return null;
      return { ...second, event: { ...old, text: old.text + now.text } };
    default:
      return null;
  }
}

/** Returns whether more events of the same kind may follow at once. */
export function isPiece({ event }: EventParams): boolean {
  return event.type === "text" || event.type === "thinking" || event.type === "toolOutput";
}
