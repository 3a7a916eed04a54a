/**
 * Answers the newest of the composer's completion requests, with the skills, and with the prompts
 * and resources of MCP servers, from Indwell's server.
 */
import { t } from "../../../shared/l10n.ts";
import type { FoundRow, ToPanel } from "../../../shared/messages.ts";
import { isGone } from "../backend.ts";
import type { HandlersOf } from "../panel/bridge.ts";
import type { Finding } from "../ports.ts";
import type { Room } from "../room.ts";
import { ranked } from "./rank.ts";

/** Milliseconds for which a list is reused, because the user is typing. */
const FRESH_MS = 4000;
const MOST_RESOURCES = 20;

interface Offers {
  readonly prompts: readonly FoundRow[];
  readonly resources: readonly FoundRow[];
}

const NONE: Offers = { prompts: [], resources: [] };

/** Requests the prompts and resources of MCP servers from Indwell's server, for `/` and `@`. */
export class McpOffers {
  readonly #room: Pick<Room, "backend" | "clock">;
  #listed: { readonly at: number; readonly offers: Promise<Offers> } | undefined;

  constructor(room: Pick<Room, "backend" | "clock">) {
    this.#room = room;
  }

  /** Returns the prompts of the running servers. */
  async prompts(): Promise<readonly FoundRow[]> {
    return (await this.#known()).prompts;
  }

  /**
   * Returns the resources that match the typed text; a chosen resource stays in the text of the
   * prompt.
   */
  async resources(query: string): Promise<readonly FoundRow[]> {
    return ranked((await this.#known()).resources, query, MOST_RESOURCES);
  }

  #known(): Promise<Offers> {
    const now = this.#room.clock.now();
    if (this.#listed === undefined || now - this.#listed.at > FRESH_MS)
      this.#listed = { at: now, offers: this.#ask() };
    return this.#listed.offers;
  }

  /**
   * Returns nothing if no server of Indwell runs, because the lists of files and skills must not
   * wait.
   */
  async #ask(): Promise<Offers> {
    try {
      const { servers } = await this.#room.backend.request("indwell/mcp", {
        action: "list",
        name: "",
        command: [],
        url: "",
      });
      const row = (kind: "skill" | "resource") => (one: { text: string; description: string }) => ({
        kind,
        label: one.text,
        detail: one.description,
        value: one.text,
      });
      return {
        prompts: servers.flatMap((one) => one.prompts.map(row("skill"))),
        resources: servers.flatMap((one) => one.resources.map(row("resource"))),
      };
    } catch {
      return NONE;
    }
  }
}

/** Requests the skills from the server; `/` offers them beside the panel's own commands. */
export class SkillList {
  readonly #room: Pick<Room, "backend" | "clock">;
  #listed: { readonly at: number; readonly rows: Promise<readonly FoundRow[]> } | undefined;

  constructor(room: Pick<Room, "backend" | "clock">) {
    this.#room = room;
  }

  /** Returns all skills in the server's order, or no skills if no server runs. */
  rows(): Promise<readonly FoundRow[]> {
    const now = this.#room.clock.now();
    if (this.#listed === undefined || now - this.#listed.at > FRESH_MS) {
      const rows = this.#ask();
      this.#listed = { at: now, rows };
      rows.catch(() => {
        this.#listed = undefined;
      });
    }
    return this.#listed.rows;
  }

  async #ask(): Promise<readonly FoundRow[]> {
    try {
      const { skills } = await this.#room.backend.request("indwell/skills", {});
      return skills.map(({ name, description, source }) => ({
        kind: "skill",
        label: `/${name}`,
        detail: source === "workspace" ? t("{0} (of this folder)", description) : description,
        value: `/${name}`,
      }));
    } catch (error) {
      if (isGone(error)) return [];
      throw error;
    }
  }
}

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
