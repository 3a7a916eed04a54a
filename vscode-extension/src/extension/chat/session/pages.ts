/** Fetches the turns of a session, 20 at a time, and the details of an opened card. */
import type { Event, SessionResult } from "../../../protocol.ts";
import type { Room } from "../room.ts";

/** The number of turns in a page. */
export const PAGE = 20;

export class Pages {
  readonly #room: Pick<Room, "store" | "backend">;

  constructor(room: Pick<Room, "store" | "backend">) {
    this.#room = room;
  }

  /**
   * Fetches the newest turns, or the turns before the turn `before`; `seq` returns the number of
   * the last event that the answer includes.
   */
  async newest(session: string, seq: () => number, before: number | null = null): Promise<void> {
    const page = await this.#fetch(session, before, PAGE);
    this.#room.store.dispatch({ type: "page", page: lean(page), where: "replace", seq: seq() });
  }

  /** Fetches the turns before those that are shown. */
  async older(): Promise<void> {
    const { store } = this.#room;
    const { session, older, turns, isRemembered } = store.state;
    const first = turns[0];
    if (session === null || isRemembered || older !== "some" || first === undefined) return;
    store.dispatch({ type: "olderLoading" });
    try {
      const page = await this.#fetch(session, first.number, PAGE);
      store.dispatch({ type: "page", page: lean(page), where: "before", seq: 0 });
    } catch (error) {
      store.dispatch({ type: "olderFailed" });
      throw error;
    }
  }

  /** Fetches the result and arguments of one call. */
  async detail(turn: number, id: string): Promise<void> {
    const { store } = this.#room;
    const { session } = store.state;
    if (session === null) return;
    const page = await this.#fetch(session, turn + 1, 1);
    const row = page.turns.find((one) => one.turn === turn);
    const own = row?.events.filter((one) => one.agent === "" && "id" in one && one.id === id) ?? [];
    const begin = own.findLast((one) => one.type === "toolStarted");
    const end = own.findLast((one) => one.type === "toolFinished");
    if (begin === undefined) return;
    store.dispatch({
      type: "toolDetail",
      session,
      turn,
      id,
      result: end?.result ?? "",
      arguments: begin.arguments,
    });
  }

  #fetch(session: string, before: number | null, limit: number): Promise<SessionResult> {
    return this.#room.backend.request("indwell/session", { session, before, limit });
  }
}

/** Leaves out the details of opened cards, so that state and messages stay small. */
function lean(page: SessionResult): SessionResult {
  return {
    ...page,
    turns: page.turns.map((turn) => ({
      ...turn,
      events: turn.events.flatMap((event): readonly Event[] => {
        if (event.type === "attached" && event.label === "") return [];
        if (event.type === "toolStarted") return [{ ...event, arguments: "" }];
        if (event.type === "toolFinished") return [{ ...event, result: null }];
        return [event];
      }),
    })),
  };
}
