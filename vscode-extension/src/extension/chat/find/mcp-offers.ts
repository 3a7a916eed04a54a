/** Requests the prompts and resources of MCP servers from Indwell's server, for `/` and `@`. */
import type { FoundRow } from "../../../shared/messages.ts";
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
