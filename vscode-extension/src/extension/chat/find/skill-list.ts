/** Requests the skills from the server; `/` offers them beside the panel's own commands. */
import { t } from "../../../shared/l10n.ts";
import type { FoundRow } from "../../../shared/messages.ts";
import { isGone } from "../backend.ts";
import type { Room } from "../room.ts";

/** Milliseconds for which a list is reused, because the user is typing. */
const FRESH_MS = 4000;

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
