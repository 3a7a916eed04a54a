/**
 * Reduces one event of the server; some change the queue of prompts that wait for the running turn.
 */
import type { Event, NumberedEvent, QueueChanged, QueueResult } from "../../protocol.ts";
import { checkingWords, compactedWords, noticeWords } from "../words.ts";
import { isOwnQuestion } from "./selectors.ts";
import type { PanelState, Turn } from "./state.ts";
import { onTurn } from "./turn-list.ts";
import {
  begun,
  counted,
  finished,
  forgetRound,
  readingWords,
  withEdit,
  withinAgent,
  withLine,
  withNotice,
  withOutput,
  withoutReading,
  withPermission,
  withPicture,
  withText,
  withToolFinished,
  withToolStarted,
} from "./turns.ts";

type Queue = PanelState["queue"];

/** Reduces the queue of an event; each row keeps its known session and attachments. */
function queueTold(queue: Queue, event: QueueChanged): Queue {
  if (event.seq < queue.seq) return queue;
  const known = new Map(queue.waiting.map((row) => [row.id, row]));
  const waiting = event.waiting.map((row) => ({
    ...row,
    session: known.get(row.id)?.session ?? null,
    attached: known.get(row.id)?.attached ?? [],
  }));
  return { seq: event.seq, held: event.held, waiting };
}

/**
 * Reduces the queue of an answer of the server; an answer that is older than the last event is
 * ignored.
 */
export function queueAnswered(queue: Queue, result: QueueResult): Queue {
  return result.seq < queue.seq ? queue : { ...result };
}

/**
 * Reduces an event of `session`; an event of another session and a repeated event change nothing.
 */
export function reduceEvent(
  state: PanelState,
  session: string,
  seq: number,
  event: Event,
  at: number,
): PanelState {
  if (session !== state.session || seq <= state.seq) return state;
  return { ...happened(state, event, `e${seq}`, at), seq };
}

/** Reduces missed events, in order. */
export function reduceMissed(
  state: PanelState,
  session: string,
  events: readonly NumberedEvent[],
  at: number,
): PanelState {
  return events.reduce((now, one) => reduceEvent(now, session, one.seq, one.event, at), state);
}

/** Returns the state after an event, live or from a page; `key` is new for every event. */
export function happened(state: PanelState, event: Event, key: string, at: number): PanelState {
  const isMain = event.agent === "";
  const turn = (change: (turn: Turn) => Turn): PanelState =>
    onTurn(state, event.turn, (one) =>
      isMain ? change(alive(one)) : withinAgent(alive(one), event.agent, change),
    );
  switch (event.type) {
    case "turnStarted":
      return isMain ? begun(state, event) : state;
    case "attached":
      return event.source === "attached" && event.label !== ""
        ? turn((one) => withPicture(one, event.label))
        : state; // The text is for the model, and is not shown.
    case "text":
      return turn((one) => {
        const kept = event.restart ? forgetRound(one) : one;
        return withText(kept, "text", event.text, key, at);
      });
    case "thinking":
      return turn((one) => withText(one, "thinking", event.text, key, at));
    case "promptRead":
      return turn((one) => withLine(one, "reading", readingWords(event.share), "reading"));
    case "toolStarted":
      return turn((one) => withToolStarted(one, event, key));
    case "toolOutput":
      return turn((one) => withOutput(one, event));
    case "toolFinished":
      return turn((one) => withToolFinished(one, event, key));
    case "editApplied":
      return turn((one) => withEdit(one, event));
    case "checking":
      return turn((one) => withLine(one, "checking", checkingWords(event.what), key));
    case "permissionAsked":
      return turn((one) => withPermission(one, event));
    case "permissionAnswered":
      return answered(
        turn((one) => withPermission(one, event)),
        event.question,
        state.session,
      );
    case "questionAsked":
    case "questionAnswered":
      return state; // The question has its own request; the call's card shows the outcome.
    case "usageReported":
      return turn((one) => counted(one, event));
    case "steered":
      return event.delivered ? turn((one) => withLine(one, "steered", event.text, key)) : state;
    case "compacted":
      return turn((one) => withLine(one, "compacted", compactedWords(event), key));
    case "notice":
      // Before the first turn, only the banner can show the notice.
      return event.turn < 1
        ? { ...state, banner: { level: event.level, text: event.message, retry: false } }
        : turn((one) => withNotice(one, event.level, noticeWords(event.message), key, at));
    case "turnFinished":
      return isMain ? finished(state, event, key) : state;
    case "hunksChanged":
      return { ...state, pending: hunks(state, event.pending, event.files.length) };
    case "queueChanged":
      return { ...state, queue: queueTold(state.queue, event) };
    case "todoChanged":
      return isMain ? { ...state, todo: event.items } : state;
    case "planChanged": {
      const { state: stands, text, path } = event;
      return isMain ? { ...state, plan: { state: stands, text, path } } : state;
    }
    case "tasksChanged":
      return state; // the task list handles this event
    case "commandsChanged":
      return isMain ? { ...state, commands: event.commands } : state;
    default:
      return event satisfies never;
  }
}

/**
 * Marks a turn as running: a live event proves that the turn runs, whereas a page looks the same
 * for a killed turn.
 */
function alive(turn: Turn): Turn {
  const parts = withoutReading(turn.parts);
  const ending = turn.ending === "interrupted" ? "running" : turn.ending;
  return parts === turn.parts && ending === turn.ending ? turn : { ...turn, parts, ending };
}

/** Removes the card of a question that was answered, by anyone. */
function answered(state: PanelState, question: string, session: string | null): PanelState {
  const left = state.questions.filter(
    (one) => one.kind !== "permission" || one.asked.id !== question || !isOwnQuestion(one, session),
  );
  return left.length === state.questions.length ? state : { ...state, questions: left };
}

function hunks(state: PanelState, total: number, files: number): PanelState["pending"] {
  return total === 0
    ? { ...state.pending, total: 0, files: 0, added: 0, removed: 0, rows: [] }
    : { ...state.pending, total, files };
}
