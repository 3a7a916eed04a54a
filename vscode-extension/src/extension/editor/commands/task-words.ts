/** The state of a task in a few words. Pure. */
import type { TaskRow } from "../../../protocol.ts";

/** Returns a line such as `t3 · waits for t1, t2`. */
export function taskFigure(task: TaskRow): string {
  const before = task.waitsFor.join(", ");
  return `${task.id} · ${stateOf(task, before)}`;
}

function stateOf(task: TaskRow, before: string): string {
  if (task.state === "waiting") return before === "" ? "starts soon" : `waits for ${before}`;
  return task.state === "open" && before !== "" ? `after ${before}` : task.state;
}
