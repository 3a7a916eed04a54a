/** Answers the newest of the composer's completion requests. */
import type { ToPanel } from "../../../shared/messages.ts";
import type { Finding } from "../ports.ts";
import type { HandlersOf } from "../wire/bridge.ts";
import type { McpOffers } from "./mcp-offers.ts";
import type { SkillList } from "./skill-list.ts";

/** The maximum number of rows in an answer. */
const MOST_ROWS = 50;

/** `send` delivers the answer; a newer request cancels an older one, which gets no answer. */
export function findHandlers(
  finding: Finding,
  skills: Pick<SkillList, "rows">,
  offers: Pick<McpOffers, "prompts" | "resources">,
  send: (message: ToPanel) => void,
): HandlersOf<"find"> {
  let running = new AbortController();
  return {
    find: async ({ id, what, query }) => {
      running.abort();
      const own = new AbortController();
      running = own;
      // The panel itself knows the `/` commands, and finds the matching skills.
      const [more, known] =
        what === "/"
          ? await Promise.all([offers.prompts(), skills.rows()])
          : await Promise.all([offers.resources(query), finding.find(query, own.signal)]);
      const rows = what === "/" ? [...known, ...more] : [...more, ...known];
      if (!own.signal.aborted) send({ type: "found", id, rows: rows.slice(0, MOST_ROWS) });
    },
  };
}
