/** How single actions change the state. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { ContextResult } from "../../../../src/protocol.ts";
import type { Action } from "../../../../src/shared/state/action.ts";
import { initialState, reduce } from "../../../../src/shared/state/reducer.ts";
import {
  canSteer,
  isBusy,
  runningTurn,
  sending,
  sessionCost,
} from "../../../../src/shared/state/selectors.ts";
import type { PanelState, ToolPart, Turn } from "../../../../src/shared/state/state.ts";
import { emptyTurn, withTurn } from "../../../../src/shared/state/turn-list.ts";
import { OUTPUT_KEPT } from "../../../../src/shared/state/turns.ts";
import { permission, statusResult, usage } from "../../fixtures.ts";
import { type EventFields, makeEvent } from "./make-event.ts";

const USAGE = usage(100, 7, 60);
const STARTED: EventFields = {
  type: "turnStarted",
  turn: 1,
  title: "Fix it",
  words: "fix it",
  model: "m",
  attached: ["invoice.py:4–9", "screen"],
  mode: "review",
};
const FINISHED: EventFields = {
  type: "turnFinished",
  turn: 1,
  ending: "done",
  message: "",
  answer: "",
  draft: "",
  rounds: 1,
  usage: USAGE,
  cost: 0.25,
  seconds: 3,
  changes: [{ path: "a.py", added: 1, removed: 2 }],
  retryable: false,
  outgrown: false,
  figures: {},
  toReview: 2,
  verified: "",
};
const STATUS = statusResult({ session: "s", cost: 1 });
const CONTEXT: ContextResult = {
  session: "s",
  model: "m",
  window: null,
  budget: null,
  used: 0,
  share: null,
  preset: "",
  headroom: [],
  sources: {},
  tiers: {},
  blocks: [],
  attached: [],
  health: null,
  parts: [],
};

function start(...actions: readonly Action[]): PanelState {
  const ready: Action = { type: "connection", connection: { kind: "ready" } };
  return [ready, { type: "opened", session: "s" } as const, ...actions].reduce(
    reduce,
    initialState,
  );
}

function withEvents(state: PanelState, ...events: readonly EventFields[]): PanelState {
  return events.reduce(
    (now, event) =>
      reduce(now, {
        type: "event",
        session: "s",
        seq: now.seq + 1,
        event: makeEvent(event),
        at: now.seq * 100,
      }),
    state,
  );
}

function text(words: string, restart = false): EventFields {
  return { type: "text", turn: 1, text: words, restart };
}

function usageReport(round: number): EventFields {
  const figures = { usage: USAGE, cost: 0.1, total: USAGE, totalCost: 0.1 };
  return { type: "usageReported", turn: 1, round, ...figures };
}

function turn(state: PanelState): Turn {
  return state.turns.at(-1) ?? assert.fail("no turn");
}

function tool(state: PanelState): ToolPart {
  const part = turn(state).parts.findLast((one) => one.kind === "tool");
  return part?.kind === "tool" ? part : assert.fail("no tool");
}

function words(state: PanelState): readonly string[] {
  return turn(state).parts.flatMap((part) =>
    part.kind === "tool" ? [] : [`${part.kind} ${part.text}`],
  );
}

test("a restart removes the text of the current model call and keeps that of earlier calls", () => {
  const before = withEvents(
    start(),
    STARTED,
    { type: "thinking", turn: 1, text: "hm" },
    text("one "),
    usageReport(1),
  );
  const again = withEvents(before, text("two "), text("more "), text("", true), text("three"));
  assert.deepEqual(words(again), ["thinking hm", "text one ", "text three"]);
});

test("a restart after the usage report still removes the text of the broken call", () => {
  // The server reports the usage of the failed attempt before the restart.
  const state = withEvents(
    start(),
    STARTED,
    text("lost"),
    usageReport(1),
    text("", true),
    text("kept"),
  );
  assert.deepEqual(words(state), ["text kept"]);
});

test("a notice between the text and its restart stays", () => {
  const notice: EventFields = {
    type: "notice",
    turn: 1,
    level: "warning",
    message: "trying again",
  };
  const state = withEvents(start(), STARTED, text("lost"), notice, text("", true), text("kept"));
  assert.deepEqual(words(state), ["line Trying again", "text kept"]);
});

test("a finished turn has its ending, cost, duration, changes and pending count", () => {
  const running = withEvents(start(), STARTED, text("x"), usageReport(1));
  assert.equal(runningTurn(running)?.number, 1);
  assert.ok(isBusy(running) && canSteer(running));
  assert.deepEqual([turn(running).input, turn(running).cost], [100, 0.1]);
  const state = withEvents(running, FINISHED);
  const { ending, cost, seconds, changes, whole } = turn(state);
  assert.deepEqual([ending, cost, seconds, changes.length, whole], ["done", 0.25, 3, 1, true]);
  assert.equal(state.pending.total, 2);
  assert.ok(!isBusy(state));
  const part = turn(state).parts[0];
  assert.ok(part?.kind === "text" && part.final);
});

test("an answer that was not streamed is shown when the turn ends", () => {
  assert.deepEqual(words(withEvents(start(), STARTED, { ...FINISHED, answer: "whole" })), [
    "text whole",
  ]);
});

test("a prompt that never reached the model returns as a draft", () => {
  const state = withEvents(start(), STARTED, { ...FINISHED, ending: "failed", draft: "fix it" });
  assert.deepEqual(state.draft, { id: 1, text: "fix it", mode: "append" });
});

test("a call that asks for permission becomes denied or done", () => {
  const asked = { turn: 1, id: "c1", question: "q1", title: "", detail: "", reason: "" };
  const state = withEvents(
    start(),
    STARTED,
    { type: "toolStarted", turn: 1, id: "c1", name: "bash", target: "rm x" },
    { type: "permissionAsked", ...asked },
  );
  assert.equal(tool(state).state, "asking");
  const answered = withEvents(state, {
    type: "permissionAnswered",
    turn: 1,
    id: "c1",
    question: "q1",
    answer: "no",
    hunks: [],
  });
  assert.equal(tool(answered).state, "denied");
  const ended: EventFields = {
    type: "toolFinished",
    turn: 1,
    id: "c1",
    name: "bash",
    target: "rm x",
    isError: true,
    figure: "refused",
    seconds: 1,
    message: "the user said no",
  };
  assert.equal(tool(withEvents(answered, ended)).state, "denied");
  assert.equal(tool(withEvents(state, { ...ended, isError: false })).state, "done");
  const ruled = { ...ended, message: "not allowed: plan mode changes nothing" };
  assert.equal(tool(withEvents(state, ruled)).state, "denied");
});

test("live output keeps its newest 64,000 characters and splits no character", () => {
  const begun = withEvents(start(), STARTED, {
    type: "toolStarted",
    turn: 1,
    id: "c1",
    name: "bash",
    target: "yes",
  });
  const state = withEvents(
    begun,
    { type: "toolOutput", turn: 1, id: "c1", text: "🙂".repeat(40_000) },
    { type: "toolOutput", turn: 1, id: "c1", text: "end" },
  );
  const { output, cut } = tool(state);
  assert.ok(output.length <= OUTPUT_KEPT && output.length > OUTPUT_KEPT - 4);
  assert.ok(output.endsWith("end") && output.startsWith("🙂"));
  assert.equal(cut + output.length, 80_003);
});

test("losing the server interrupts the turn, stops its calls and clears the questions", () => {
  const running = withEvents(start(), STARTED, {
    type: "toolStarted",
    turn: 1,
    id: "c1",
    name: "bash",
    target: "make",
  });
  const state = [
    {
      type: "question",
      question: { kind: "permission", nonce: "n", asked: permission(), tool: null, agent: "" },
    } as const,
    { type: "connection", connection: { kind: "restarting", reason: "" } } as const,
  ].reduce<PanelState>(reduce, running);
  assert.deepEqual([turn(state).ending, tool(state).state], ["interrupted", "stopped"]);
  assert.deepEqual([state.questions, state.seq], [[], 0]);
});

test("a queue event keeps the chips and the session of each row, and an older queue changes nothing", () => {
  const row = { id: "1", title: "t", text: "later", session: "s", attached: ["a.py"] };
  const queue = { seq: 4, held: "", waiting: [row] };
  const known = start({ type: "queue", queue });
  const after = withEvents(known, STARTED, {
    type: "queueChanged",
    turn: 1,
    seq: 5,
    held: "stopped",
    waiting: [{ id: "1", title: "t", text: "later" }],
  });
  assert.deepEqual(after.queue, { seq: 5, held: "stopped", waiting: [row] });
  assert.equal(reduce(after, { type: "queue", queue }).queue, after.queue);
});

test("a queued prompt is not shown as being sent", () => {
  const sent = start({ type: "sent", id: 1, words: "later", images: [], taken: [] });
  assert.equal(sending(sent).length, 1);
  const waiting = [{ id: "1", title: "", text: "later", session: null, attached: [] }];
  const queued = reduce(sent, { type: "queue", queue: { seq: 1, held: "", waiting } });
  assert.equal(sending(queued).length, 0);
  assert.equal(queued.outgoing.length, 1);
});

test("an automatic attachment is hidden if a mention covers the same lines", () => {
  const attached = [{ id: "sel", kind: "selection", label: "a.py:1–3", tokens: 9 } as const];
  const context = { ...CONTEXT, attached };
  const attachment = { kind: "mention", id: "m", label: "a.py:1–3", path: "a.py#L1-3" } as const;
  const chip = start({ type: "context", context });
  assert.deepEqual(
    chip.attachments.map((one) => one.id),
    ["sel"],
  );
  const both = reduce(chip, { type: "attach", attachment });
  assert.deepEqual(
    both.attachments.map((one) => one.id),
    ["m"],
  );
  const after = reduce(both, { type: "context", context });
  assert.deepEqual(
    after.attachments.map((one) => one.id),
    ["m"],
  );
});

test("the open file is hidden if a mention has the same path, even with another label", () => {
  const attached = [{ id: "opened", kind: "opened", label: "shop/a.py", tokens: 9 } as const];
  const context = { ...CONTEXT, attached };
  const attachment = { kind: "mention", id: "m", label: "a.py", path: "shop/a.py" } as const;
  const both = reduce(start({ type: "context", context }), { type: "attach", attachment });
  const after = reduce(both, { type: "context", context });
  for (const { attachments } of [both, after])
    assert.deepEqual(
      attachments.map((one) => one.id),
      ["m"],
    );
});

test("a late status does not restart a turn that has ended", () => {
  const late: Action = { type: "status", status: { ...STATUS, running: 1 } };
  const ended = withEvents(start({ type: "status", status: STATUS }), STARTED, FINISHED);
  assert.equal(isBusy(reduce(ended, late)), false);
  assert.equal(isBusy(reduce(withEvents(start(), STARTED), late)), true);
  const next: Action = { type: "status", status: { ...STATUS, running: 2 } };
  assert.equal(isBusy(reduce(ended, next)), true);
  const other: Action = { type: "status", status: { ...STATUS, session: "t", running: 1 } };
  assert.equal(isBusy(reduce(ended, other)), true);
});

test("a session's cost grows during a turn, and is unknown after a turn without a price", () => {
  const running = withEvents(start({ type: "status", status: STATUS }), STARTED, usageReport(1));
  assert.equal(sessionCost(running), 1.1);
  assert.equal(sessionCost(withEvents(running, FINISHED)), 1.25);
  const unknown = withEvents(running, { ...FINISHED, cost: null });
  assert.equal(sessionCost(unknown), null);
});

test("the session list ignores answers to an earlier query and answers after it was closed", () => {
  const asked = (query: string): Action => ({
    type: "list",
    query,
    result: null,
    where: "replace",
  });
  const answer = (query: string): Action => ({
    type: "list",
    query,
    result: { sessions: [], more: query === "a" },
    where: "replace",
  });
  const state = [asked("a"), asked("ab"), answer("a")].reduce(reduce, start());
  assert.deepEqual(state.list, { query: "ab", rows: [], more: false, loading: true });
  assert.equal(reduce(state, answer("ab")).list?.loading, false);
  const closed: Action = { type: "list", query: "", result: null, where: "close" };
  assert.equal([closed, answer("ab")].reduce(reduce, state).list, null);
});

test("the share of the prompt that was read is one line until the reply begins or the turn ends", () => {
  const reading = (share: number): EventFields => ({ type: "promptRead", turn: 1, share });
  const lines = (state: PanelState) =>
    state.turns.flatMap((one) => one.parts.map((part) => ("text" in part ? part.text : part.kind)));
  const before = withEvents(start(), STARTED, reading(0.1), reading(0.45));
  assert.deepEqual(lines(before), ["Reading the prompt, 45 %"]);
  const text: EventFields = { type: "text", turn: 1, text: "Hello", restart: false };
  assert.deepEqual(lines(withEvents(start(), STARTED, reading(0.45), text)), ["Hello"]);
  assert.deepEqual(lines(withEvents(start(), STARTED, reading(0.45), FINISHED)), []);
});

test("a selection's chip disappears with its prompt, and returns with another session or a refused prompt", () => {
  const row = (id: string, kind: "selection" | "opened") => ({
    id,
    kind,
    label: `shop/${id}.py`,
    tokens: 9,
  });
  const attached = [row("selection-1", "selection"), row("opened-1", "opened")];
  const context: Action = { type: "context", context: { ...CONTEXT, attached } };
  const ids = (state: PanelState) => state.attachments.map((one) => one.id);
  const sent: Action = { type: "sent", id: 1, words: "fix it", images: [], taken: [] };
  const before = start(context);
  assert.deepEqual(ids(before), ["selection-1", "opened-1"]);
  const after = withEvents(reduce(before, sent), STARTED);
  assert.deepEqual(ids(reduce(after, context)), ["opened-1"]);
  const elsewhere = reduce(reduce(after, { type: "opened", session: "other" }), context);
  assert.deepEqual(ids(elsewhere), ["selection-1", "opened-1"]);
  const refused = reduce(reduce(before, sent), { type: "answered", id: 1, attachments: [] });
  assert.deepEqual(ids(refused), ["selection-1", "opened-1"]);
});

test("retries of one model call share a line that states when the next attempt begins", () => {
  const notice = (seq: number, message: string): Action => ({
    type: "event",
    session: "s",
    seq,
    at: 1_000 * seq,
    event: { type: "notice", turn: 1, level: "warning", message, agent: "" },
  });
  const begin = withTurn([], emptyTurn("s", 1));
  const before = { ...initialState, session: "s", turns: begin };
  const after = [
    notice(1, "the endpoint is busy; trying again in 2 s"),
    notice(2, "the endpoint is busy; trying again in 4 s"),
    notice(3, "something else"),
  ].reduce(reduce, before);
  assert.deepEqual(after.turns[0]?.parts, [
    { kind: "line", key: "e1", what: "retrying", text: "The endpoint is busy", until: 6_000 },
    { kind: "line", key: "e3", what: "warning", text: "Something else" },
  ]);
});
