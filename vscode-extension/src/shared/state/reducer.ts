/** The panel's complete reducer: pure, the same in the extension host and in the webview. */
import type { SessionsResult, StatusResult } from "../../protocol.ts";
import type { Action } from "./action.ts";
import { answered, attached, contextTold, sent, unattached } from "./reduce-composer.ts";
import { queueAnswered, reduceEvent, reduceMissed } from "./reduce-event.ts";
import { paged } from "./reduce-page.ts";
import type { Connection, PanelState, Question, SessionListState } from "./state.ts";
import { onTurn, turnOf } from "./turn-list.ts";
import { abandoned, withDetail } from "./turns.ts";

/**
 * Returns the list of sessions after a page of rows; if `result` is null, the page is still being
 * fetched.
 */
function listed(
  list: SessionListState | null,
  query: string,
  result: SessionsResult | null,
  where: "replace" | "after" | "close",
): SessionListState | null {
  if (where === "close") return null;
  const rows = list?.rows ?? [];
  if (result === null) {
    // The old rows stay while the new ones are fetched, so that nothing flickers.
    return { query, rows, more: list?.more ?? false, loading: true };
  }
  // The list is closed, or the query has changed since.
  if (list === null || list.query !== query) return list;
  const known = new Set(where === "after" ? rows.map((row) => row.id) : []);
  const fresh = result.sessions.filter((row) => !known.has(row.id));
  return {
    query,
    rows: where === "after" ? [...rows, ...fresh] : fresh,
    more: result.more,
    loading: false,
  };
}

export { initialState } from "./state.ts";

/** Returns the state after `action`; parts that an action does not change stay the same objects. */
export function reduce(state: PanelState, action: Action): PanelState {
  return { ...changed(state, action), revision: state.revision + 1 };
}

function changed(state: PanelState, action: Action): PanelState {
  switch (action.type) {
    case "connection":
      return connected(state, action.connection);
    case "status":
      return { ...state, status: withoutEnded(state, action.status) };
    case "models":
      return { ...state, models: action.models };
    case "event":
      return reduceEvent(state, action.session, action.seq, action.event, action.at);
    case "missed":
      return reduceMissed(state, action.session, action.events, action.at);
    case "opened":
      return opened(state, action.session, action.left ?? false);
    case "remembered":
      return {
        ...state,
        session: action.session,
        title: action.title,
        isRemembered: true,
        turns: action.turns.map(abandoned),
        older: action.hasOlder ? "some" : "none",
      };
    case "page":
      return paged(state, action.page, action.where, action.seq);
    case "olderLoading":
      return state.older === "some" ? { ...state, older: "loading" } : state;
    case "olderFailed":
      return state.older === "loading" ? { ...state, older: "some" } : state;
    case "toolDetail":
      if (action.session !== state.session || turnOf(state, action.turn) === undefined)
        return state;
      return onTurn(state, action.turn, (turn) =>
        withDetail(turn, action.id, action.result, action.arguments),
      );
    case "question":
      return { ...state, questions: [...without(state, action.question.nonce), action.question] };
    case "questionGone":
      return { ...state, questions: without(state, action.nonce) };
    case "queue":
      return { ...state, queue: queueAnswered(state.queue, action.queue) };
    case "mcp":
      return { ...state, mcp: action.page };
    case "changes": {
      const { changes: rows, files, added, removed, pending: total, undo = "" } = action.changes;
      return { ...state, pending: { total, files, added, removed, rows, undo } };
    }
    case "commands":
      return action.session === state.session ? { ...state, commands: action.commands } : state;
    case "context":
      return contextTold(state, action.context);
    case "attach":
      return attached(state, action.attachment);
    case "unattach":
      return unattached(state, action.id);
    case "sent":
      return sent(state, action);
    case "answered":
      return answered(state, action.id, action.attachments);
    case "draft":
      return {
        ...state,
        draft: { id: state.draft.id + 1, text: action.text, mode: action.mode },
      };
    case "history":
      return { ...state, history: action.prompts };
    case "firstRun":
      return { ...state, firstRun: action.firstRun };
    case "near":
      return { ...state, near: action.near };
    case "list":
      return { ...state, list: listed(state.list, action.query, action.result, action.where) };
    case "marks":
      return { ...state, marks: action.marks };
    case "suggestions":
      return { ...state, suggestions: action.suggestions };
    case "banner":
      return { ...state, banner: action.banner };
    case "looks":
      return { ...state, looks: action.looks };
    default:
      return action satisfies never;
  }
}

/**
 * Removes turns that have ended from the status, because a status that is older than the end of a
 * turn may arrive later. A turn that is only "interrupted" in a page of the log has no reported
 * end, so it is not removed.
 */
function withoutEnded(state: PanelState, status: StatusResult): StatusResult {
  if (status.running === null || status.session !== state.session) return status;
  const ending = turnOf(state, status.running)?.ending ?? "running";
  return ending === "running" || ending === "interrupted" ? status : { ...status, running: null };
}

/**
 * Reduces the connection. A server that is gone sends no more events, so its turn is ended, and its
 * questions and event numbers are dropped.
 */
function connected(state: PanelState, connection: Connection): PanelState {
  if (connection.kind === "ready") return { ...state, connection };
  return {
    ...state,
    connection,
    seq: 0,
    turns: state.turns.some((turn) => turn.ending === "running")
      ? state.turns.map(abandoned)
      : state.turns,
    questions: [],
    queue: { seq: 0, held: "", waiting: [] },
    commands: [],
    status: state.status && { ...state.status, running: null },
  };
}

function opened(state: PanelState, session: string | null, left: boolean): PanelState {
  if (session === state.session && session !== null) return state;
  const outgoing = state.outgoing.map((one) =>
    one.session === null ? { ...one, session: left ? "" : session } : one,
  );
  return {
    ...state,
    outgoing,
    session,
    title: "",
    isRemembered: false,
    seq: 0,
    turns: [],
    older: "none",
    todo: [],
    plan: null,
    commands: [],
    context: null,
    // If the first prompt of a new session created this session, it has received the selections;
    // any other session has not.
    sentSelections: state.session === null ? state.sentSelections : [],
  };
}

function without(state: PanelState, nonce: string): readonly Question[] {
  return state.questions.filter((one) => one.nonce !== nonce);
}
