/** What sub-agents did stands in the cards of their calls again when a session is opened anew. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { InnerRow, PieceRow, TurnRow } from "../../../src/protocol.ts";
import { initialState, reduce } from "../../../src/shared/reducer.ts";
import type { PanelState, ToolPart } from "../../../src/shared/state.ts";
import { going } from "../../../src/shared/tool-words.ts";
import { type Told, told } from "./told.ts";

const DIFF = "--- a/tax.py\n+++ b/tax.py\n@@ -1 +1 @@\n-7\n+8\n";
const READ = innerRow("a1-1", { name: "read_file", target: "tax.py", figure: "48 lines" });
const EDIT = innerRow("a1-2", { name: "edit_file", target: "tax.py", diff: DIFF });
const REFUSED = innerRow("a1-3", { error: true, message: "not allowed: the mode is `plan`" });
const FAILED = innerRow("a1-4", { error: true, message: "no such file", figure: "failed" });
const OPEN = innerRow("a1-5", { name: "bash", target: "pytest", ended: false, seconds: null });
const HEARD: Told = { type: "text", turn: 1, text: "Now", restart: false };

function innerRow(id: string, more: Partial<InnerRow>): InnerRow {
  const words = { name: "grep", target: "x", figure: "", message: "", diff: "" };
  return { id, ...words, seconds: 1, error: false, ended: true, cut: 0, ...more };
}

function agentCard(more: Partial<PieceRow>): PieceRow {
  const words = { text: "It is 8 now.", arguments: "", target: "explore: the tax", figure: "" };
  const seconds = more.answered === false ? null : 9;
  const rest = { error: false, answered: true, cut: 0, seconds, diff: "", inner: [] };
  return { kind: "tool", source: "agent", id: "c1", ...words, ...rest, ...more };
}

function opened(ending: TurnRow["ending"], card: PieceRow): PanelState {
  return page(reduce(initialState, { type: "opened", session: "s" }), ending, card);
}

function page(state: PanelState, ending: TurnRow["ending"], card: PieceRow): PanelState {
  const usage = { input: 1, cached: 0, output: 1, cost: null };
  const rest = { left: false, title: "", attached: [], mode: null, seconds: null, changes: [] };
  const row: TurnRow = { turn: 1, at: "", ending, message: "", usage, pieces: [card], ...rest };
  const head = { session: "s", title: "", at: "", model: "m", total: 1, more: false };
  const told = { ...head, turns: [row], notices: [], todo: [], plan: null };
  return reduce(state, { type: "page", page: told, where: "replace", seq: state.seq });
}

/** A page of a turn that runs: an event of it was heard before. */
function running(card: PieceRow): PanelState {
  const before = happen(reduce(initialState, { type: "opened", session: "s" }), HEARD);
  return page(before, null, card);
}

function happen(state: PanelState, ...events: readonly Told[]): PanelState {
  return events.reduce(
    (now, event) =>
      reduce(now, { type: "event", session: "s", seq: now.seq + 1, event: told(event), at: 0 }),
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

test("its calls are back as they were: how they ended, and what they changed", () => {
  const state = opened("done", agentCard({ inner: [READ, EDIT, REFUSED, FAILED] }));
  assert.deepEqual(
    innerOf(state).map((one) => [one.id, one.state, one.figure, one.message]),
    [
      ["a1-1", "done", "48 lines", ""],
      ["a1-2", "done", "", ""],
      ["a1-3", "denied", "", REFUSED.message],
      ["a1-4", "failed", "failed", "no such file"],
    ],
  );
  assert.deepEqual(innerOf(state)[1]?.diffs, [
    { path: "tax.py", added: 1, removed: 1, diff: DIFF, created: false },
  ]);
  assert.equal(new Set(innerOf(state).map((one) => one.key)).size, 4);
});

test("of a turn that was killed nothing runs", () => {
  const state = opened(null, agentCard({ answered: false, inner: [READ, OPEN] }));
  assert.deepEqual(
    innerOf(state).map((one) => [one.state, one.figure]),
    [
      ["done", "48 lines"],
      ["stopped", ""],
    ],
  );
});

test("a turn that runs goes on in the same card: no call of it is there twice", () => {
  const before = running(agentCard({ answered: false, inner: [READ, OPEN] }));
  assert.equal(going(cardOf(before).inner)?.id, "a1-5");
  const call = { turn: 1, name: "bash", target: "pytest", agent: "c1" };
  const end = { isError: false, figure: "3 passed", seconds: 2, message: "" };
  const state = happen(
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

test("one that has ended does not run until the others have: their results come together", () => {
  const card = agentCard({ answered: false, seconds: 9, figure: "2 rounds", inner: [READ, OPEN] });
  const part = cardOf(running(card));
  assert.deepEqual([part.state, part.figure], ["done", "2 rounds"]);
  assert.equal(going(part.inner), undefined);
  assert.equal(cardOf(running({ ...card, error: true })).state, "failed");
});
