/** Merges pages of a session with live turns: no turn appears twice, and the order is kept. */
import type { SessionResult, TurnRow } from "../../protocol.ts";
import { happened } from "./reduce-event.ts";
import { initialState, type PanelState, type Part, type Turn } from "./state.ts";
import { emptyTurn, placeOf } from "./turn-list.ts";
import { abandoned, closed } from "./turns.ts";

/** Returns the state with a page; a page of another session changes nothing. */
export function paged(
  state: PanelState,
  page: SessionResult,
  where: "replace" | "before",
  seq: number,
): PanelState {
  if (page.session !== state.session) return state;
  return where === "before" ? extended(state, page) : replaced(state, page, seq);
}

/** Adds older turns before the existing ones. */
function extended(state: PanelState, page: SessionResult): PanelState {
  const first = state.turns[0]?.number ?? Number.POSITIVE_INFINITY;
  const rows = sorted(page.turns).filter((row) => row.turn < first);
  const older = rows.map((row) => turnOfPage(page.session, row, false));
  return {
    ...state,
    turns: [...older, ...state.turns],
    older: page.more ? "some" : "none",
  };
}

/**
 * Sets the newest turns. Older turns that were fetched before are removed, because a rewind may
 * have discarded any of them. Turns that began while the page was read are kept after the page's
 * turns.
 */
function replaced(before: PanelState, page: SessionResult, seq: number): PanelState {
  const rows = sorted(page.turns);
  // The turns from the server replace the turns from disk.
  const state = before.isRemembered ? { ...before, turns: [] } : before;
  const last = rows.at(-1)?.turn ?? 0;
  const shown = rows.map((row) => merged(state, page, row, seq > state.seq));
  const since = state.turns.filter((turn) => turn.number > last);
  return {
    ...state,
    seq: Math.max(state.seq, seq),
    title: page.title,
    isRemembered: false,
    turns: [...shown, ...since],
    older: page.more ? "some" : "none",
    todo: page.todo,
    plan: planTold(state.plan, page.plan),
  };
}

/**
 * Merges a turn of a page with the known turn. If the known turn was watched from its beginning to
 * its end, it has more data and is kept; otherwise the page's turn is used. `skipped` means that
 * the page replaces missed events of the running turn.
 */
function merged(state: PanelState, page: SessionResult, row: TurnRow, skipped: boolean): Turn {
  const live = state.turns[placeOf(state.turns, row.turn)];
  const hasEnded = row.events.some((event) => event.type === "turnFinished");
  const isHoley = live?.ending === "interrupted" ? hasEnded : skipped && isOpen(live);
  if (live?.whole && !isHoley) {
    return live.left === row.left ? live : { ...live, left: row.left };
  }
  const { status } = state;
  const isRunning = live?.ending === "running" || runsIn(status, page.session) === row.turn;
  const told = turnOfPage(page.session, row, isRunning);
  const images = told.images.map((image) => ({
    label: image.label,
    url: live?.images.find((one) => one.label === image.label)?.url ?? null,
  }));
  return { ...told, images };
}

/**
 * Builds a turn from the log, by reducing its events like live events. `running` means that the
 * server reported the turn as running; without such a report, a turn that has no end was
 * interrupted when the process was killed.
 */
export function turnOfPage(session: string, row: TurnRow, running: boolean): Turn {
  const [told = emptyTurn(session, row.turn)] = row.events.reduce(
    (state: PanelState, event, place) =>
      wholeWords(happened(state, event, `p${row.turn}.${place}`, 0)),
    { ...initialState, session },
  ).turns;
  const turn: Turn = {
    ...told,
    parts: told.parts.map(untimed),
    left: row.left,
    // The log contains complete replies, not the reply that is streaming.
    whole: told.ending !== "running",
    round: told.parts.length,
    next: null,
  };
  return running ? turn : abandoned(turn);
}

/** Marks text as complete, because an event of a page has the whole text, unlike a live event. */
function wholeWords(state: PanelState): PanelState {
  return { ...state, turns: state.turns.map((turn) => ({ ...turn, parts: closed(turn.parts) })) };
}

/** Removes times, because a page does not say when text came. */
function untimed(part: Part): Part {
  return part.kind === "text" || part.kind === "thinking"
    ? { ...part, ms: null, since: null }
    : part;
}

/** Returns the running turn of a session: the current session's turn, or another session's. */
function runsIn(status: PanelState["status"], session: string): number | null {
  if (status?.session === session) return status.running;
  return status?.beside.find((one) => one.session === session)?.turn ?? null;
}

/**
 * Completes a plan of a page. A page does not name the plan's document, so the document of a known
 * plan with the same text is used.
 */
function planTold(known: PanelState["plan"], told: SessionResult["plan"]): PanelState["plan"] {
  return told !== null && told.path === "" && told.text === known?.text
    ? { ...told, path: known.path }
    : told;
}

function isOpen(turn: Turn | undefined): boolean {
  return turn?.ending === "running";
}

function sorted(rows: readonly TurnRow[]): readonly TurnRow[] {
  return rows.toSorted((one, other) => one.turn - other.turn);
}
