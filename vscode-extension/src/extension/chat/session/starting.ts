/**
 * Runs when a server has started: fetches its status, and resumes the session from before a reload.
 */

import type { ResumeResult } from "../../../protocol.ts";
import { t } from "../../../shared/l10n.ts";
import type { PanelState } from "../../../shared/state/state.ts";
import { isOpenElsewhere, sentenceOf } from "../backend.ts";
import { OPEN_ELSEWHERE, type Room, tell } from "../room.ts";
import type { Chosen } from "./chosen.ts";
import type { Intake } from "./intake.ts";
import type { Refresh } from "./refresh.ts";

/**
 * The limit for attempts, in milliseconds; a remote editor keeps the extension host of a reloaded
 * window for five minutes.
 */
const PATIENCE_MS = 330_000;
/** Milliseconds between two attempts; the pause is longer if an attempt takes more than seconds. */
const SOON_MS = 1000;
const LATER_MS = 5000;
const SOON_TRIES = 20;
const NOT_THERE = t("The session of this tab is not there any more. A prompt begins a new one.");
const WAITING = t("Waiting for the earlier window to release this session…");

/**
 * Requests everything that the panel shows from the new server; resumes `kept`, if that session exists.
 * `unsent` is called when the queue is known.
 */
export async function startWith(
  room: Pick<Room, "store" | "backend" | "clock">,
  intake: Intake,
  refresh: Refresh,
  chosen: Chosen,
  kept: string | null,
  unsent: () => void,
): Promise<void> {
  const { store } = room;
  intake.reset();
  chosen.gone();
  store.dispatch({ type: "connection", connection: { kind: "ready" } });
  // The user may begin or open another session before the server has answered, and that choice
  // takes precedence.
  let hasChosen = false;
  const off = store.listen((action) => {
    hasChosen ||= action.type === "opened";
  });
  // `allSettled`, because a server that ends now must not leave an unhandled rejection.
  const others = Promise.allSettled([refresh.now("changes"), refresh.now("queue")]);
  try {
    await refresh.now("status");
    await chosen.restore(refresh);
    await others;
  } finally {
    off();
  }
  const settled = await others;
  unsent();
  const { status } = store.state;
  if (!hasChosen && status?.session) await intake.open(status.session, true);
  else if (!hasChosen && kept !== null) await goOnWith(room, intake, kept);
  for (const one of settled) if (one.status === "rejected") throw one.reason;
  refresh.soon("status", "context", "models");
}

/** Starts a tab, which continues its own session and does not change the current session. */
export async function startTab(
  room: Pick<Room, "store" | "backend" | "clock" | "tab">,
  intake: Intake,
  refresh: Refresh,
  session: string | null,
  unsent: () => void,
): Promise<void> {
  const { store } = room;
  intake.reset();
  store.dispatch({ type: "connection", connection: { kind: "ready" } });
  const queue = Promise.allSettled([refresh.now("queue")]);
  await refresh.now("status");
  await queue;
  unsent();
  if (session !== null) await goOnWith(room, intake, session);
  refresh.soon("status", "context", "models");
}

async function goOnWith(
  room: Pick<Room, "store" | "backend" | "clock" | "tab">,
  intake: Intake,
  session: string,
): Promise<void> {
  const { store } = room;
  try {
    await intake.open(session, true);
    if (store.state.turns.length === 0) {
      await intake.open(null);
      return;
    }
  } catch {
    await intake.open(null); // The session was deleted since, or belongs to another folder.
    if (room.tab !== undefined) tell(room, "warning", NOT_THERE);
    return;
  }
  // The session is shown for reading; it continues when a model can be called.
  if (store.state.status?.lacking !== "") return;
  try {
    const resumed = await patiently(room, session);
    if (resumed === null || store.state.session !== session) return;
    if (resumed.draft !== "")
      store.dispatch({ type: "draft", text: resumed.draft, mode: "replace" });
    if (resumed.notices.length > 0) tell(room, "info", resumed.notices.join("\n"));
  } catch (error) {
    tell(room, "warning", isOpenElsewhere(error) ? OPEN_ELSEWHERE : sentenceOf(error));
  }
}

/**
 * Tries again while the previous window has the session open; returns null once the session is no
 * longer needed.
 */
async function patiently(
  { store, backend, clock, tab }: Pick<Room, "store" | "backend" | "clock" | "tab">,
  session: string,
): Promise<ResumeResult | null> {
  const since = clock.now();
  let connection = store.state.connection;
  const say = (next: PanelState["connection"]): void => {
    store.dispatch({ type: "connection", connection: next });
    connection = next;
  };
  // The states are compared by identity, because a restarted server has its own attempts.
  const isMine = (): boolean => store.state.connection === connection;
  try {
    for (let tries = 1; ; tries += 1) {
      try {
        const wanted = { session, quiet: true };
        return await backend.execute(
          "indwell.resume",
          tab === undefined ? wanted : { ...wanted, beside: true },
        );
      } catch (error) {
        if (!isMine() || store.state.session !== session) return null;
        if (!isOpenElsewhere(error) || clock.now() - since > PATIENCE_MS) throw error;
      }
      if (tries === 1) say({ kind: "ready", waiting: WAITING });
      await new Promise<void>((resolve) => {
        clock.after(tries < SOON_TRIES ? SOON_MS : LATER_MS, resolve);
      });
      if (!isMine() || store.state.session !== session) return null;
    }
  } finally {
    if (isMine() && connection.kind === "ready" && connection.waiting !== undefined)
      say({ kind: "ready" });
  }
}
