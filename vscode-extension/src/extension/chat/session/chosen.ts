/** Remembers the mode and model that the user chose in this window, for a restarted server. */
import * as v from "valibot";
import type { StatusResult } from "../../../protocol.ts";
import { t } from "../../../shared/l10n.ts";
import { sentenceOf } from "../backend.ts";
import { type Room, tell } from "../room.ts";
import type { Refresh } from "./refresh.ts";

type Mode = StatusResult["mode"];

/** The modes, the strictest first. */
const TIGHTEST_FIRST: readonly Mode[] = ["plan", "ask", "review", "auto"];

const KEPT = v.object({
  mode: v.nullable(v.picklist(TIGHTEST_FIRST)),
  model: v.nullable(v.string()),
});

/** Returns whether `mode` is stricter than `other`. */
export function isTighter(mode: Mode, other: Mode): boolean {
  return TIGHTEST_FIRST.indexOf(mode) < TIGHTEST_FIRST.indexOf(other);
}

/** The user's choices; a value of null was not chosen, so that the settings apply. */
export class Chosen {
  readonly #room: Pick<Room, "store" | "backend" | "ports">;
  #mode: Mode | null;
  #model: string | null;
  /**
   * The mode in the settings when the server started, or null if this window was reloaded since.
   */
  #base: Mode | null = null;
  /** Until a server has received the choices, its status has the values of the settings. */
  #isStarting = true;
  /** The stricter mode that the user chose and the server did not take over, or null. */
  #refused: Mode | null = null;

  constructor(room: Pick<Room, "store" | "backend" | "ports">) {
    this.#room = room;
    const kept = v.safeParse(KEPT, room.ports.memory.get("chosen"));
    this.#mode = kept.success ? kept.output.mode : null;
    this.#model = kept.success ? kept.output.model : null;
  }

  /** Records the user's choice. */
  choose(what: { readonly mode: Mode } | { readonly model: string }): void {
    if ("mode" in what) this.#mode = what.mode;
    else this.#model = what.model;
    this.#keep();
  }

  /**
   * Reads the server's status: a choice that the server has dropped since (because of new settings)
   * is deleted.
   */
  heard({ mode, model }: StatusResult): void {
    if (this.#isStarting) return;
    const isOther = {
      mode: this.#mode !== null && this.#mode !== mode,
      model: this.#model !== null && this.#model !== model,
    };
    if (isOther.mode) this.#mode = null;
    if (isOther.model) this.#model = null;
    if (isOther.mode || isOther.model) this.#keep();
  }

  /** Records that the server is gone. */
  gone(): void {
    this.#isStarting = true;
    this.#refused = null;
  }

  /**
   * Says why a prompt that waited for the server must not go out: the user wrote the prompt for a
   * stricter mode than the mode of the server. Returns an empty text if the prompt may go out.
   */
  whyHeld(): string {
    const mode = this.#isStarting ? this.#mode : this.#refused;
    if (mode === null || mode === TIGHTEST_FIRST.at(-1)) return "";
    return t(
      "The server did not take over the mode {0}, so the prompt was not sent. Look at the mode below the input, then send the prompt again.",
      mode,
    );
  }

  /**
   * Sends the choices to the new server, whose status is known. Reports refusals, and never
   * rejects.
   */
  async restore(refresh: Refresh): Promise<void> {
    const { status } = this.#room.store.state;
    if (status === null) return;
    const mode = this.#modeFor(status);
    const model = status.lacking === "" && this.#model !== status.model ? this.#model : null;
    this.#base = status.mode;
    this.#refused = mode !== null && isTighter(mode, status.mode) ? mode : null;
    try {
      if (mode !== null) await this.#room.backend.execute("indwell.mode", { mode });
      this.#refused = null;
      if (model !== null) await this.#room.backend.request("indwell/setModel", { model });
    } catch (error) {
      tell(this.#room, "warning", sentenceOf(error));
    }
    try {
      if (mode !== null || model !== null) await refresh.now("status");
    } finally {
      this.#isStarting = false;
    }
    const now = this.#room.store.state.status;
    if (now !== null) this.heard(now);
  }

  /**
   * Returns the mode to restore: a looser mode only if the settings are the same as when the user
   * chose it.
   */
  #modeFor({ mode: own, modes }: StatusResult): Mode | null {
    const mode = this.#mode;
    if (mode === null || mode === own || !modes.includes(mode)) return null;
    return isTighter(mode, own) || this.#base === own ? mode : null;
  }

  #keep(): void {
    this.#room.ports.memory.set("chosen", { mode: this.#mode, model: this.#model });
  }
}
