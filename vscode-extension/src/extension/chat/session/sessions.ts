/** Lists past sessions, and carries out the actions on them. */
import { t } from "../../../shared/l10n.ts";
import { runningTurn, sending } from "../../../shared/state/selectors.ts";
import type { PanelState } from "../../../shared/state/state.ts";
import { sentenceOf } from "../backend.ts";
import type { HandlersOf } from "../panel/bridge.ts";
import { type Room, tell } from "../room.ts";
import type { Intake } from "./intake.ts";
import type { Refresh } from "./refresh.ts";

/** The number of sessions in a page of the list. */
const LIMIT = 30;
const DELETE = t("Delete");
const STOP_AND_DELETE = t("Stop and Delete");

type Listed =
  | "sessions"
  | "closeSessions"
  | "openSession"
  | "openInEditor"
  | "forkSession"
  | "renameSession"
  | "deleteSession";

export class Sessions {
  readonly #room: Room;
  readonly #intake: Intake;
  readonly #refresh: Refresh;
  /** Counts the user's choices, because only the newest choice applies. */
  #newest = 0;
  #before: Promise<unknown> = Promise.resolve();

  constructor(room: Room, intake: Intake, refresh: Refresh) {
    this.#room = room;
    this.#intake = intake;
    this.#refresh = refresh;
  }

  handlers(): HandlersOf<Listed> {
    return {
      sessions: ({ query, more }) => this.#list(query, more),
      closeSessions: () => this.#closeList(),
      openSession: ({ session }) => this.open(session),
      openInEditor: async ({ session }) => {
        this.#closeList();
        await this.#room.openTab?.(session);
      },
      forkSession: ({ session }) => this.fork(session, null),
      renameSession: ({ session, title }) => this.#rename(session, title),
      deleteSession: ({ session }) => this.#delete(session),
    };
  }

  /** Resume another session; a running turn continues. */
  async open(session: string): Promise<void> {
    const { store, backend, tab } = this.#room;
    if (tab !== undefined && session !== store.state.session) {
      await this.#inTab(session);
      return;
    }
    if (session === store.state.session && store.state.status?.session === session) {
      this.#closeList();
      return;
    }
    await this.#goOn(() => backend.execute("indwell.resume", { session, wait: true, keep: true }));
  }

  /** Begin a new session from the end of `turn` (null means the last turn) of `session`. */
  async fork(session: string | null, turn: number | null): Promise<void> {
    const { backend, tab } = this.#room;
    if (tab !== undefined) {
      const forked = { session, turn, wait: true, beside: true };
      const result = await backend.execute("indwell.fork", forked);
      if (result !== null) await this.#inTab(result.session);
      return;
    }
    await this.#goOn(() =>
      backend.execute("indwell.fork", { session, turn, wait: true, keep: true }),
    );
  }

  /** Clear the panel; the next prompt begins a session. A running turn continues. */
  async begin(): Promise<void> {
    const { store, backend, board, tab } = this.#room;
    if (tab !== undefined) {
      await this.#inTab(null);
      return;
    }
    this.#newest += 1;
    board.left(store.state.session);
    if (store.state.connection.kind === "ready")
      await backend.execute("indwell.newSession", { keep: true });
    await this.empty();
  }

  /** Opens a session in another tab, because this tab keeps its session. */
  async #inTab(session: string | null): Promise<void> {
    this.#closeList();
    await this.#room.openTab?.(session);
  }

  #closeList(): void {
    this.#room.store.dispatch({ type: "list", query: "", result: null, where: "close" });
  }

  /** Empties the chat, because the session is gone; the next prompt begins another session. */
  async empty(): Promise<void> {
    const { store } = this.#room;
    this.#newest += 1;
    if (store.state.banner?.level === "info") store.dispatch({ type: "banner", banner: null });
    store.dispatch({ type: "list", query: "", result: null, where: "close" });
    await this.#intake.open(null, true);
    this.#refresh.soon("status", "context");
  }

  async #goOn(
    ask: () => Promise<{
      readonly session: string;
      readonly draft: string;
      readonly notices: readonly string[];
    } | null>,
  ): Promise<void> {
    const { store } = this.#room;
    this.#newest += 1;
    const mine = this.#newest;
    // The requests are sent one after the other, so that server and panel end with the same
    // session.
    const before = this.#before;
    const answer = before.then(() => (mine === this.#newest ? ask() : null));
    this.#before = answer.catch(() => {});
    const result = await answer;
    if (result === null || mine !== this.#newest) return; // The server has reported the reason.
    store.dispatch({ type: "list", query: "", result: null, where: "close" });
    if (result.session !== store.state.session) this.#room.board.left(store.state.session);
    await this.#intake.open(result.session, true);
    if (result.draft !== "") store.dispatch({ type: "draft", text: result.draft, mode: "append" });
    if (result.notices.length > 0) tell(this.#room, "info", result.notices.join("\n"));
    this.#refresh.soon("status", "queue", "changes", "context");
  }

  /**
   * Returns true if no turn runs, or if the user agrees to stop it; `stop` is the button's label.
   */
  async mayStop(words: string, stop: string): Promise<boolean> {
    const { store, ports } = this.#room;
    if (!isRunning(store.state)) return true;
    return (await ports.dialogs.confirm(words, whatStops(store.state), [stop])) === stop;
  }

  async #list(query: string, more: boolean): Promise<void> {
    const { store, backend } = this.#room;
    const last = more ? store.state.list?.rows.at(-1)?.id : undefined;
    store.dispatch({ type: "list", query, result: null, where: "replace" });
    const before = last === undefined ? {} : { before: last };
    try {
      const result = await backend.request("indwell/sessions", { query, limit: LIMIT, ...before });
      const where = last === undefined ? "replace" : "after";
      store.dispatch({ type: "list", query, result, where });
    } catch (error) {
      const result = { sessions: store.state.list?.rows ?? [], more: false };
      store.dispatch({ type: "list", query, result, where: "replace" });
      tell(this.#room, "error", sentenceOf(error));
    }
  }

  async #rename(session: string, title: string): Promise<void> {
    await this.#room.backend.request("indwell/rename", { session, title });
    this.#room.board.titled(session, title);
    this.#room.tellOthers?.(session, "renamed");
    await this.#again();
    this.#refresh.soon("status");
  }

  async #delete(session: string): Promise<void> {
    const { store, backend, ports, board } = this.#room;
    const row = store.state.list?.rows.find((one) => one.id === session);
    const question =
      row === undefined ? t("Delete this session?") : t("Delete “{0}”?", row.title || row.preview);
    const isBehind = board.since(session) !== null && session !== store.state.session;
    const stops = isBehind || (session === store.state.session && isRunning(store.state));
    const goes = t(
      "Its words and results are deleted permanently. Files that it changed stay as they are.",
    );
    const what = isBehind ? t("Its running turn is stopped.") : whatStops(store.state);
    const detail = stops ? `${what} ${goes}` : goes;
    const choice = stops ? STOP_AND_DELETE : DELETE;
    const chosen = await ports.dialogs.confirm(question, detail, [choice]);
    if (chosen !== choice) return;
    // The server does not delete a running session; a session that it refuses to delete stays in the panel.
    const isCurrent = this.#room.tab === undefined && session === store.state.status?.session;
    if (stops && isCurrent) await backend.execute("indwell.newSession", {});
    else if (stops) await backend.execute("indwell.cancel", { session });
    await backend.request("indwell/delete", { session });
    board.forget(session);
    this.#room.tellOthers?.(session, "deleted");
    if (session === store.state.session) await this.empty();
    await this.#again();
  }

  /** Fetches the list again, if the list is open. */
  async #again(): Promise<void> {
    const { list } = this.#room.store.state;
    if (list !== null) await this.#list(list.query, false);
  }
}

/**
 * Returns whether a change of the session would stop a turn; a prompt that waits for its session
 * does not count.
 */
function isRunning(state: PanelState): boolean {
  const { connection } = state;
  if (connection.kind !== "ready") return false;
  if (runningTurn(state) !== undefined || (state.status?.running ?? null) !== null) return true;
  return connection.waiting === undefined && sending(state).length > 0;
}

function whatStops(state: PanelState): string {
  const turn = runningTurn(state);
  const title = (turn?.title || turn?.words || sending(state).at(-1)?.words || "").trim();
  const line = title.split("\n", 1)[0] ?? "";
  const short = line.length > 60 ? `${line.slice(0, 59)}…` : line;
  return short === ""
    ? t("The running turn is stopped. Its words, and what it has changed so far, stay.")
    : t("The turn “{0}” is stopped. Its words, and what it has changed so far, stay.", short);
}
