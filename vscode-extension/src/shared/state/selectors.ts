/** Values of a state that several parts of the panel and the editor read. Pure. */
import type { Outgoing, PanelState, Part, Question, ToolPart, Turn } from "./state.ts";
import { turnOf } from "./turn-list.ts";

export { turnOf };

/** Returns the running turn of the shown session, or undefined if no turn runs. */
export function runningTurn(state: PanelState): Turn | undefined {
  const last = state.turns.at(-1);
  return last?.ending === "running" ? last : undefined;
}

/**
 * Returns the title from the server or, for a session that is only shown for reading, the beginning
 * of the first prompt.
 */
export function titleOf(state: PanelState): string {
  const said = state.status?.session === state.session ? (state.status?.title ?? "") : "";
  const first = state.turns[0];
  if (said === "" && state.title !== "") return state.title;
  return said !== "" ? said : (first?.title || first?.words.split("\n")[0] || "").slice(0, 120);
}

/** Returns whether a turn of any session runs or is about to begin. */
export function isBusy(state: PanelState): boolean {
  if (state.connection.kind !== "ready") return false;
  return (
    runningTurn(state) !== undefined ||
    (state.status !== null && state.status.running !== null) ||
    sending(state).length > 0
  );
}

/** Returns whether the running turn can receive text. */
export function canSteer(state: PanelState): boolean {
  return state.connection.kind === "ready" && runningTurn(state) !== undefined;
}

/** Returns prompts that were sent, but neither run nor wait in the queue. */
export function sending(state: PanelState): readonly Outgoing[] {
  if (state.outgoing.length === 0) return state.outgoing;
  const waiting = new Set(state.queue.waiting.map((row) => row.text));
  return state.outgoing.filter(
    ({ words, session }) =>
      !waiting.has(words) && (session === undefined || session === state.session),
  );
}

/** Returns the open questions of the shown session, and those that belong to no session. */
export function ownQuestions(state: PanelState): readonly Question[] {
  const isOwn = (one: Question): boolean => isOwnQuestion(one, state.session);
  return state.questions.every(isOwn) ? state.questions : state.questions.filter(isOwn);
}

/** Returns whether a question belongs to this session or to no session. */
export function isOwnQuestion(question: Question, session: string | null): boolean {
  const of = sessionOf(question);
  return of === "" || of === session;
}

/** Returns the session whose turn asks, or empty if there is none. */
export function sessionOf(question: Question): string {
  return (question.kind === "permission" ? question.asked.session : question.session) ?? "";
}

/** Returns the waiting prompts of the shown session. */
export function ownWaiting(state: PanelState): PanelState["queue"] {
  const { queue, session } = state;
  const waiting = queue.waiting.filter((row) => row.session === null || row.session === session);
  return waiting.length === queue.waiting.length ? queue : { ...queue, waiting };
}

/**
 * Returns the session's cost in US dollars, including the running turn, or null if the cost is
 * unknown.
 */
export function sessionCost(state: PanelState): number | null {
  const before = state.status?.session === state.session ? (state.status?.cost ?? null) : null;
  const running = runningTurn(state)?.cost ?? null;
  if (before === null) return state.turns.length <= 1 && state.older === "none" ? running : null;
  return before + (running ?? 0);
}

/** Returns the turns of the conversation that no rewind discarded. */
export function livedTurns(state: PanelState): readonly Turn[] {
  return state.turns.some((turn) => turn.left)
    ? state.turns.filter((turn) => !turn.left)
    : state.turns;
}

/**
 * Returns the call that a question to the user is about, and the call of its sub-agent, or
 * undefined if there is none.
 */
export function askingCall(
  state: PanelState,
): { readonly call: ToolPart; readonly agent: ToolPart | undefined } | undefined {
  const isAsking = (call: ToolPart): boolean => call.state === "asking";
  for (const call of tools(state.turns.at(-1)?.parts ?? []).toReversed()) {
    if (isAsking(call)) return { call, agent: undefined };
    const inside = tools(call.inner).findLast(isAsking);
    if (inside !== undefined) return { call: inside, agent: call };
  }
  return undefined;
}

function tools(parts: readonly Part[]): readonly ToolPart[] {
  return parts.filter((part): part is ToolPart => part.kind === "tool");
}
