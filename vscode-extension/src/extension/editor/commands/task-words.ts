/** The state of a task in a few words. Pure. */

import type { TaskRow } from "../../../protocol.ts";
import { t } from "../../../shared/l10n.ts";

/** Returns a line such as `t3 · waits for t1, t2`. */
export function taskFigure(task: TaskRow): string {
  const before = task.waitsFor.join(", ");
  return `${task.id} · ${stateOf(task, before)}`;
}

function stateOf(task: TaskRow, before: string): string {
  switch (task.state) {
    case "waiting":
      return before === "" ? t("starts soon") : t("waits for {0}", before);
    case "open":
      return before === "" ? t("open") : t("after {0}", before);
    case "running":
      return t("running");
    case "done":
      return t("done");
    case "failed":
      return t("failed");
    case "stopped":
      return t("stopped");
    default:
      return task.state satisfies never;
  }
}
