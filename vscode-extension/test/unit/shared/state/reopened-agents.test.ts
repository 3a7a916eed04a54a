/**
 * A reopened session shows the work of its sub-agents in the cards of the calls that started them.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Event, TurnFinished } from "../../../../src/protocol.ts";
import { initialState, reduce } from "../../../../src/shared/state/reducer.ts";
import type { PanelState, ToolPart } from "../../../../src/shared/state/state.ts";
import { going } from "../../../../src/shared/tool-words.ts";
import { type EventFields, finishedTurn, makeEvent } from "./make-event.ts";

const DIFF = "--- a/tax.py\n+++ b/tax.py\n@@ -1 +1 @@\n-7\n+8\n";
const READ = inner("a1-1", { name: "read_file", target: "tax.py", figure: "48 lines" });
const EDIT = inner("a1-2", { name: "edit_file", target: "tax.py" }, DIFF);
const REFUSED = inner("a1-3", { isError: true, message: "not allowed: the mode is `plan`" });
const FAILED = inner("a1-4", { isError: true, message: "no such file", figure: "failed" });
const OPEN = begins("a1-5", "bash", "pytest", "c1");
const FIRST_TEXT: EventFields = { type: "text", turn: 1, text: "Now", restart: false };

interface End {
  readonly name: string;
  readonly target: string;
  readonly isError: boolean;
  readonly message: string;
  readonly figure: string;
}

function begins(id: string, name: string, target: string, agent = ""): Event {
  return makeEvent({ type: "toolStarted", turn: 1, id, name, target, agent });
}

function ends(id: string, end: End, agent = ""): Event {
  const rest = { seconds: 1, agent };
  return makeEvent({ type: "toolFinished", turn: 1, id, ...end, ...rest });
}

/** The events of one complete call of the sub-agent. */
function inner(id: string, more: Partial<End>, diff = ""): readonly Event[] {
  const end = { name: "grep", target: "x", isError: false, message: "", figure: "", ...more };
  const edit = { path: end.target, added: 1, removed: 1, created: false, verified: true };
  const edits = diff === "" ? [] : [{ id, ...edit, diff }];
  return [
    begins(id, end.name, end.target, "c1"),
    ...edits.map((one) => makeEvent({ type: "editApplied", turn: 1, ...one, agent: "c1" })),
    ends(id, end, "c1"),
  ];
}

/**
 * The call that started the sub-agent and the sub-agent's events; with `end` null, the call is
 * still running.
 */
function agentCard(events: readonly Event[], end: Partial<End> | null = {}): readonly Event[] {
  const words = { name: "agent", target: "explore: the tax", isError: false, message: "" };
  const over = end === null ? [] : [ends("c1", { ...words, figure: "", ...end })];
  return [begins("c1", words.name, words.target), ...events, ...over];
}

function opened(ending: TurnFinished["ending"] | null, card: readonly Event[]): PanelState {
  const end = ending === null ? [] : [finishedTurn(ending)];
  return page(reduce(initialState, { type: "opened", session: "s" }), [...card, ...end]);
}

function page(state: PanelState, events: readonly Event[]): PanelState {
  const row = { turn: 1, at: "", left: false, cut: 0, events };
  const head = { session: "s", title: "", at: "", model: "m", total: 1, more: false };
  const answer = { ...head, turns: [row], notices: [], todo: [], plan: null };
  return reduce(state, { type: "page", page: answer, where: "replace", seq: state.seq });
}

/** A page of a running turn, of which the panel has already received an event. */
function running(card: readonly Event[]): PanelState {
  const before = withEvents(reduce(initialState, { type: "opened", session: "s" }), FIRST_TEXT);
  return page(before, card);
}

function withEvents(state: PanelState, ...events: readonly EventFields[]): PanelState {
  return events.reduce(
    (now, event) =>
      reduce(now, {
        type: "event",
        session: "s",
        seq: now.seq + 1,
        event: makeEvent(event),
        at: 0,
      }),
    state,
  );
}

function cardOf(state: PanelState): ToolPart {
  const [part, ...others] = state.turns[0]?.parts ?? [];
  assert.ok(part?.kind === "tool" && others.length === 0, "the turn shows one card");
  return part;
}

function innerOf(state: PanelState): readonly ToolPart[] {
  return cardOf(state).inner.filter((part) => part.kind === "tool");
}

test("a reopened sub-agent's card shows how each call ended and what it changed", () => {
  const state = opened("done", agentCard([READ, EDIT, REFUSED, FAILED].flat()));
  assert.deepEqual(
    innerOf(state).map((one) => [one.id, one.state, one.figure, one.message]),
    [
      ["a1-1", "done", "48 lines", ""],
      ["a1-2", "done", "", ""],
      ["a1-3", "denied", "", "not allowed: the mode is `plan`"],
      ["a1-4", "failed", "failed", "no such file"],
    ],
  );
  assert.deepEqual(innerOf(state)[1]?.diffs, [
    { path: "tax.py", added: 1, removed: 1, diff: DIFF, created: false },
  ]);
  assert.equal(new Set(innerOf(state).map((one) => one.key)).size, 4);
});

test("in a turn without an end no call of a sub-agent is shown as running", () => {
  const state = opened(null, agentCard([...READ, OPEN], null));
  assert.deepEqual(
    innerOf(state).map((one) => [one.state, one.figure]),
    [
      ["done", "48 lines"],
      ["stopped", ""],
    ],
  );
});

test("new events of a running turn extend the sub-agent's card without repeating calls", () => {
  const before = running(agentCard([...READ, OPEN], null));
  assert.equal(going(cardOf(before).inner)?.id, "a1-5");
  const call = { turn: 1, name: "bash", target: "pytest", agent: "c1" };
  const end = { isError: false, figure: "3 passed", seconds: 2, message: "" };
  const state = withEvents(
    before,
    { type: "toolOutput", turn: 1, id: "a1-5", text: "...", agent: "c1" },
    { type: "toolFinished", ...call, id: "a1-5", ...end },
    { type: "toolStarted", ...call, id: "a1-6" },
  );
  assert.deepEqual(
    innerOf(state).map((one) => [one.id, one.state, one.output]),
    [
      ["a1-1", "done", ""],
      ["a1-5", "done", "..."],
      ["a1-6", "running", ""],
    ],
  );
  assert.equal(state.turns[0]?.ending, "running");
});

test("a sub-agent that has ended is not shown as running while its turn runs", () => {
  const card = agentCard([...READ, OPEN], { figure: "2 rounds" });
  const part = cardOf(running(card));
  assert.deepEqual([part.state, part.figure], ["done", "2 rounds"]);
  assert.equal(going(part.inner), undefined);
  assert.equal(cardOf(running(agentCard([], { isError: true }))).state, "failed");
});
