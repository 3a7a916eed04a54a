/** Handlers to go back in the conversation: rewind, fork, or edit an earlier prompt. */

import type { ResumeResult } from "../../../protocol.ts";
import { t } from "../../../shared/l10n.ts";
import { turnOf } from "../../../shared/state/selectors.ts";
import type { Sending } from "../handlers/sending.ts";
import type { HandlersOf } from "../panel/bridge.ts";
import { type Room, tell } from "../room.ts";
import type { Intake } from "./intake.ts";
import type { Refresh } from "./refresh.ts";
import type { Sessions } from "./sessions.ts";

const TALK = t("Conversation Only");
const FILES = t("Conversation and Files");

export class Branches {
  readonly #room: Room;
  readonly #intake: Intake;
  readonly #refresh: Refresh;
  readonly #sessions: Sessions;
  readonly #sending: Sending;
  #isUnderWay = false;
  #resent = "";

  constructor(room: Room, intake: Intake, refresh: Refresh, sessions: Sessions, sending: Sending) {
    this.#room = room;
    this.#intake = intake;
    this.#refresh = refresh;
    this.#sessions = sessions;
    this.#sending = sending;
  }

  handlers(): HandlersOf<"rewind" | "fork" | "resend"> {
    return {
      rewind: async ({ turn, files }) => {
        if (this.#room.store.state.session === null) return;
        await this.#alone(async () => {
          const taken = files ?? (await this.#chooseFiles(turn));
          if (taken === null || !(await this.#sessions.mayStop(t("Rewind?"), t("Stop and Rewind"))))
            return;
          const result = await this.#rewind(turn, taken);
          if (result !== null && result.draft !== "") this.#giveBack(result.draft);
        });
      },
      fork: async ({ turn }) => {
        const { session } = this.#room.store.state;
        await this.#alone(() => this.#sessions.fork(session, turn));
      },
      resend: async ({ turn, text }) => {
        if (!(await this.#alone(() => this.#resend(turn, text))) && text !== this.#resent)
          this.#giveBack(text);
      },
    };
  }

  /**
   * Rewinds to before `turn`, then sends this text; files are unchanged, as in a continued
   * conversation.
   */
  async #resend(turn: number, text: string): Promise<void> {
    const first = turnOf(this.#room.store.state, turn);
    const mode = first?.mode;
    this.#resent = text;
    let result: ResumeResult | null = null;
    try {
      if (await this.#sessions.mayStop(t("Send these words instead?"), t("Stop and Send")))
        result = await this.#rewind(turn - 1, false);
    } catch (error) {
      this.#giveBack(text);
      throw error; // The bridge reports the error.
    }
    if (result === null) this.#giveBack(text);
    else this.#sending.again(text, isMode(mode) ? mode : undefined, first?.words ?? text);
  }

  #giveBack(text: string): void {
    this.#room.store.dispatch({ type: "draft", text, mode: "replace" });
  }

  /** Runs one function at a time; returns false, and skips `run`, if another function runs. */
  async #alone(run: () => Promise<void>): Promise<boolean> {
    if (this.#isUnderWay) return false;
    this.#isUnderWay = true;
    try {
      await run();
    } finally {
      this.#isUnderWay = false;
    }
    return true;
  }

  async #rewind(turn: number, files: boolean): Promise<ResumeResult | null> {
    const { store, backend, tab } = this.#room;
    const { session } = store.state;
    const wanted = { session, turn, files, wait: true };
    const result = await backend.execute(
      "indwell.rewind",
      tab === undefined ? wanted : { ...wanted, beside: true },
    );
    if (result === null) return null;
    this.#room.tellOthers?.(result.session, "rewound");
    await this.#intake.open(result.session, true);
    if (result.notices.length > 0) tell(this.#room, "info", result.notices.join("\n"));
    this.#refresh.soon("status", "queue", "changes", "context");
    return result;
  }

  async #chooseFiles(turn: number): Promise<boolean | null> {
    const words =
      turn === 0 ? t("Rewind to the beginning?") : t("Rewind to the end of turn {0}?", turn);
    const detail = t(
      "The conversation continues from there; later turns stay in the log. With files, what later turns of this session changed is taken back too; your own edits stay.",
    );
    const chosen = await this.#room.ports.dialogs.confirm(words, detail, [TALK, FILES]);
    return chosen === null ? null : chosen === FILES;
  }
}

function isMode(mode: string | null | undefined): mode is "plan" | "ask" | "review" | "auto" {
  return mode === "plan" || mode === "ask" || mode === "review" || mode === "auto";
}
