/** Pages of a session put together with what was seen live: nothing is shown twice, the order stays. */
import type { SessionResult, TurnRow } from "../protocol.ts";
import { initialState } from "./initial-state.ts";
import { happened } from "./reduce-event.ts";
import type { PanelState, Part, Turn } from "./state.ts";
import { abandoned } from "./turn-ends.ts";
import { emptyTurn, placeOf } from "./turn-list.ts";
import { closed } from "./turn-text.ts";

/** The state with a page; one of another session changes nothing. */
export function paged(
  state: PanelState,
  page: SessionResult,
  where: "replace" | "before",
  seq: number,
): PanelState {
  if (page.session !== state.session) return state;
  return where === "before" ? extended(state, page) : replaced(state, page, seq);
}

/** Older turns, before those that are there. */
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
 * The newest turns. Older ones that were fetched before go: a rewind may have left any of them behind.
 * Turns that began while the page was read stay behind it.
 */
function replaced(state: PanelState, page: SessionResult, seq: number): PanelState {
  const rows = sorted(page.turns);
  const last = rows.at(-1)?.turn ?? 0;
  const shown = rows.map((row) => merged(state, page, row, seq > state.seq));
  const since = state.turns.filter((turn) => turn.number > last);
  return {
    ...state,
    seq: Math.max(state.seq, seq),
    turns: [...shown, ...since],
    older: page.more ? "some" : "none",
    todo: page.todo,
    plan: planTold(state.plan, page.plan),
  };
}

/**
 * What was watched from begin to end knows more than the log does; else the log is right.
 *
 * `skipped`: the page stands for events that were never seen; they were of the turn that runs.
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
 * A turn read back: its events through the reducer of those that come live.
 *
 * `running`: the server said that this is the turn at work; without that an open end is a kill.
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
    // The log holds what models have answered in full, not what streams right now.
    whole: told.ending !== "running",
    round: told.parts.length,
    next: null,
  };
  return running ? turn : abandoned(turn);
}

/** Live, an event has a piece of the words; in a page it has all of them. */
function wholeWords(state: PanelState): PanelState {
  return { ...state, turns: state.turns.map((turn) => ({ ...turn, parts: closed(turn.parts) })) };
}

/** A page does not say when words came. */
function untimed(part: Part): Part {
  return part.kind === "text" || part.kind === "thinking"
    ? { ...part, ms: null, since: null }
    : part;
}

/** The turn of a session that runs: the current session's, or one beside it. */
function runsIn(status: PanelState["status"], session: string): number | null {
  if (status?.session === session) return status.running;
  return status?.beside.find((one) => one.session === session)?.turn ?? null;
}

/** A page does not say where the plan's document is; that of the same text is known. */
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
