/** The work of a sub-agent appears only in the card of the call that started it. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { initialState, reduce } from "../../../../src/shared/state/reducer.ts";
import type { PanelState, ToolPart } from "../../../../src/shared/state/state.ts";
import { agentFigure, going, isLastEdit } from "../../../../src/shared/tool-words.ts";
import { usage } from "../../fixtures.ts";
import { type EventFields, makeEvent } from "./make-event.ts";

const USAGE = usage(9000, 500);
const OPENED = reduce(initialState, { type: "opened", session: "s" });

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

function begin(id: string, name: string, target: string, agent = ""): EventFields {
  return { type: "toolStarted", turn: 1, id, name, target, agent };
}

function end(id: string, agent = ""): EventFields {
  const words = { name: "x", target: "t", figure: "", message: "" };
  return { type: "toolFinished", turn: 1, id, ...words, isError: false, seconds: 1, agent };
}

function edit(id: string, path: string, agent = ""): EventFields {
  const counts = { added: 1, removed: 0, diff: "", created: false, verified: false };
  return { type: "editApplied", turn: 1, id, path, ...counts, agent };
}

function cards(state: PanelState): readonly ToolPart[] {
  return (state.turns[0]?.parts ?? []).flatMap((part) => (part.kind === "tool" ? [part] : []));
}

function card(state: PanelState, id: string): ToolPart {
  return cards(state).find((one) => one.id === id) ?? assert.fail(`no card ${id}`);
}

const TWO = withEvents(
  OPENED,
  begin("a", "agent", "explore: the tax"),
  begin("b", "agent", "explore: the totals"),
  begin("a.1", "grep", "rate", "a"),
  begin("b.1", "read_file", "invoice.py", "b"),
);

test("two concurrent sub-agents have separate cards, and the turn shows only these two cards", () => {
  assert.deepEqual(
    cards(TWO).map((one) => one.id),
    ["a", "b"],
  );
  assert.equal(going(card(TWO, "a").inner)?.target, "rate");
  assert.equal(going(card(TWO, "b").inner)?.target, "invoice.py");
});

test("calls, output, edits and notices of a sub-agent appear in its card", () => {
  const state = withEvents(
    TWO,
    { type: "toolOutput", turn: 1, id: "a.1", text: "3 hits", agent: "a" },
    edit("a.1", "tax.py", "a"),
    { type: "notice", turn: 1, level: "warning", message: "hm", agent: "a" },
    end("a.1", "a"),
  );
  const [call, line] = card(state, "a").inner;
  assert.ok(call?.kind === "tool" && line?.kind === "line");
  assert.deepEqual(
    [call.output, call.state, call.diffs.length, line.text],
    ["3 hits", "done", 1, "hm"],
  );
  assert.equal(state.turns[0]?.parts.length, 2);
});

test("a sub-agent's tokens count in its card and not in the turn", () => {
  const counted = { round: 1, usage: USAGE, cost: 0.1, total: USAGE, totalCost: 0.1 };
  const state = withEvents(TWO, { type: "usageReported", turn: 1, ...counted, agent: "a" });
  assert.equal(agentFigure(card(state, "a")), "1 call, 9.5k tokens");
  assert.deepEqual([state.turns[0]?.input, state.turns[0]?.cost], [0, null]);
});

test("a sub-agent's todo list, plan and commands do not replace those of the conversation", () => {
  const before = withEvents(TWO, { type: "todoChanged", turn: 1, items: [] });
  const items = [{ text: "its own", state: "open", after: [] }] as const;
  const state = withEvents(
    before,
    { type: "todoChanged", turn: 1, items, agent: "a" },
    { type: "planChanged", turn: 1, state: "proposed", text: "its own", path: "", agent: "a" },
    { type: "commandsChanged", turn: 1, commands: [], agent: "a" },
  );
  assert.deepEqual([state.todo, state.plan, state.commands], [[], null, []]);
  assert.equal(state.turns[0]?.ending, "running");
});

test("events of a sub-agent's begin and end do not change the conversation", () => {
  const before = withEvents(TWO, { type: "text", turn: 1, text: "Meanwhile", restart: false });
  const begins = {
    type: "turnStarted",
    title: "its own",
    words: "its own",
    model: "small",
  } as const;
  const began = withEvents(
    before,
    { ...begins, turn: 1, attached: [], mode: "plan", agent: "a" },
    { ...begins, turn: 2, attached: [], mode: "plan", agent: "a" },
  );
  const but = (state: PanelState) => ({ ...state, revision: 0, seq: 0 });
  assert.deepEqual(but(began), but(before));
  const ended = withEvents(began, {
    type: "turnFinished",
    turn: 1,
    ending: "failed",
    message: "no more rounds",
    answer: "its answer",
    draft: "its words",
    rounds: 9,
    usage: USAGE,
    cost: 1,
    seconds: 5,
    toReview: 7,
    agent: "a",
  });
  assert.deepEqual(but(ended), but(before));
});

test("pending changes of a sub-agent count in the session's total", () => {
  const state = withEvents(TWO, {
    type: "hunksChanged",
    turn: 1,
    pending: 2,
    files: ["tax.py"],
    agent: "a",
  });
  assert.equal(state.pending.total, 2);
});

test("no call of a sub-agent runs after its own call ends or the server stops", () => {
  const over = withEvents(TWO, end("a"));
  assert.equal(going(card(over, "a").inner), undefined);
  const gone = reduce(TWO, { type: "connection", connection: { kind: "stopped", reason: "" } });
  assert.deepEqual(
    cards(gone).flatMap((one) => [one.state, going(one.inner)]),
    ["stopped", undefined, "stopped", undefined],
  );
});

test("an event of a sub-agent without a card changes no turn", () => {
  const state = withEvents(TWO, begin("c.1", "grep", "x", "c"));
  assert.deepEqual(state.turns, TWO.turns);
});

test("the last edit of a file is found across the turn and its sub-agents", () => {
  const state = withEvents(
    TWO,
    edit("a.1", "tax.py", "a"),
    begin("own", "edit_file", "tax.py"),
    edit("own", "tax.py"),
    edit("b.1", "totals.py", "b"),
  );
  const parts = state.turns[0]?.parts ?? [];
  assert.deepEqual(
    cards(state).map((one) => isLastEdit(parts, one)),
    [false, true, true],
  );
});
