/** Answers the composer's completion: the newest question only. */
import type { ToPanel } from "../../../shared/messages.ts";
import type { Finding } from "../ports.ts";
import type { HandlersOf } from "../wire/bridge.ts";
import type { SkillList } from "./skill-list.ts";

/** Rows of an answer. */
const MOST_ROWS = 50;

/** `send` carries the answer; an older question is broken off by a newer one and never answered. */
export function findHandlers(
  finding: Finding,
  skills: Pick<SkillList, "rows">,
  send: (message: ToPanel) => void,
): HandlersOf<"find"> {
  let running = new AbortController();
  return {
    find: async ({ id, what, query }) => {
      running.abort();
      const own = new AbortController();
      running = own;
      // The commands of `/` are known to the panel itself, which also finds the skills that fit.
      const rows = what === "/" ? await skills.rows() : await finding.find(query, own.signal);
      if (!own.signal.aborted) send({ type: "found", id, rows: rows.slice(0, MOST_ROWS) });
    },
  };
}
