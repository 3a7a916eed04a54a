/** What every handler of the chat has at hand. */
import type { Backend } from "./backend.ts";
import type { Clock } from "./clock.ts";
import type { Ports } from "./ports.ts";
import type { Store } from "./store.ts";

export interface Room {
  readonly store: Store;
  readonly backend: Backend;
  readonly ports: Ports;
  readonly clock: Clock;
}

/** Of a session that another window does not give up. */
export const OPEN_ELSEWHERE =
  "This session is open in another window. Close it there, or begin a new session.";

/** Milliseconds that a passing word stands. */
const PASSING_MS = 10_000;

/** Tell the user something that matters only now: it goes by itself, and with what is done next. */
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

/** Tell the user one sentence above the composer. */
export function tell(
  room: Pick<Room, "store">,
  level: "info" | "warning" | "error",
  text: string,
  retry = false,
): void {
  room.store.dispatch({ type: "banner", banner: { level, text, retry } });
}
