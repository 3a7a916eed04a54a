/** Objects shared by all handlers of the chat. */
import { t } from "../../shared/l10n.ts";
import type { Backend } from "./backend.ts";
import type { Clock } from "./clock.ts";
import type { Ports } from "./ports.ts";
import type { SessionBoard } from "./session/board.ts";
import type { Store } from "./store.ts";
import type { Elsewhere, TabRole } from "./tab/role.ts";

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
