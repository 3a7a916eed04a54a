/**
 * The state of a chat, and the other objects that all its handlers share. The panel changes from
 * session to session, a tab keeps one session.
 */
import type { StatusResult } from "../../protocol.ts";
import { t } from "../../shared/l10n.ts";
import type { Action } from "../../shared/state/action.ts";
import { initialState, reduce } from "../../shared/state/reducer.ts";
import type { PanelState } from "../../shared/state/state.ts";
import type { Clock } from "../clock.ts";
import type { Backend } from "./backend.ts";
import type { Ports } from "./ports.ts";
import type { SessionBoard } from "./session/board.ts";

/** Called with every action right after it was reduced. */
type Heard = (action: Action, state: PanelState) => void;

/** The only owner of the panel's state. */
export class Store {
  #state: PanelState;
  readonly #listeners = new Set<Heard>();

  constructor(state: PanelState = initialState) {
    this.#state = state;
  }

  /** The current state. */
  get state(): PanelState {
    return this.#state;
  }

  /**
   * Reduce an action and notify listeners, in at most a millisecond. An arrow function, so that it
   * can be passed on.
   */
  readonly dispatch = (action: Action): void => {
    this.#state = reduce(this.#state, action);
    for (const hear of this.#listeners) hear(action, this.#state);
  };

  /** Subscribe to all later actions; the returned function unsubscribes. */
  listen(heard: Heard): () => void {
    this.#listeners.add(heard);
    return () => void this.#listeners.delete(heard);
  }
}

/** A chat in an editor tab, with one session, which the tab's first prompt may begin. */
export interface TabRole {
  /**
   * The mode that the user chose in this tab, for each prompt of the tab; null for the session's
   * mode.
   */
  mode: StatusResult["mode"] | null;
}

/**
 * What the user did with a session in one chat, which other chats with the same session must show,
 * too.
 */
export type Elsewhere = "rewound" | "renamed" | "deleted";

export interface Room {
  readonly board: SessionBoard;
  readonly store: Store;
  readonly backend: Backend;
  readonly ports: Ports;
  readonly clock: Clock;
  /** Set in an editor tab. */
  readonly tab?: TabRole;
  /** Opens a session in an editor tab; null opens a new session. */
  readonly openTab?: (session: string | null) => Promise<void>;
  /** Tells the other chats of the window about a change of a session. */
  readonly tellOthers?: (session: string, what: Elsewhere) => void;
}

/** The message for a session that another window has open. */
export const OPEN_ELSEWHERE = t(
  "This session is open in another window. Close it there, or begin a new session.",
);

/** Milliseconds for which a temporary message is shown. */
const PASSING_MS = 10_000;

/** Show a temporary message, which disappears after a while or with the next action. */
export function tellInPassing({ store, clock }: Pick<Room, "store" | "clock">, text: string): void {
  const banner = { level: "info", text, retry: false } as const;
  store.dispatch({ type: "banner", banner });
  const end = (): void => {
    unhear();
    off();
    if (store.state.banner === banner) store.dispatch({ type: "banner", banner: null });
  };
  const off = clock.after(PASSING_MS, end);
  const unhear = store.listen(({ type }) => {
    if (type === "sent" || type === "opened" || type === "attach" || type === "list") end();
  });
}

/** Show one sentence above the composer. */
export function tell(
  room: Pick<Room, "store">,
  level: "info" | "warning" | "error",
  text: string,
  retry = false,
): void {
  room.store.dispatch({ type: "banner", banner: { level, text, retry } });
}
