import assert from "node:assert/strict";
import { test } from "node:test";
import { noticesOf } from "../../../../src/extension/editor/status/notices.ts";
import { statusWords } from "../../../../src/extension/editor/status/status-words.ts";
import type { ServerState } from "../../../../src/extension/server/state.ts";
import type { PermissionParams, StatusResult } from "../../../../src/protocol.ts";
import {
  initialState,
  type PanelState,
  type Question,
  type ToolPart,
  type Turn,
} from "../../../../src/shared/state/state.ts";
import { emptyTurn } from "../../../../src/shared/state/turn-list.ts";

const RUNNING: ServerState = { kind: "running", version: "1" };

function turn(over: Partial<Turn>): Turn {
  return { ...emptyTurn("s", 1), ending: "done", ...over };
}

function tool(name: string, target: string): ToolPart {
  return {
    kind: "tool",
    key: "k",
    id: "1",
    name,
    target,
    state: "running",
    figure: "",
    seconds: null,
    message: "",
    output: "",
    cut: 0,
    result: null,
    arguments: null,
    diffs: [],
    inner: [],
    tokens: 0,
  };
}

const asked: PermissionParams = {
  id: "1",
  kind: "command",
  title: "Run a command?",
  detail: "rm -r build",
  reason: "",
  rule: "",
  cwd: "",
  session: "",
  sandbox: "",
  more: "",
  why: "",
  wanted: false,
  risky: [],
  hunks: [],
};
const question: Question = { kind: "permission", nonce: "n", asked, tool: null, agent: "" };
const pending = { total: 3, files: 2, added: 1, removed: 1, rows: [], undo: "" };
const state = (over: Partial<PanelState>): PanelState => ({
  ...initialState,
  connection: { kind: "ready" },
  ...over,
});
const said = (panel: PanelState, server: ServerState = RUNNING) => statusWords(server, panel).text;

test("the most pressing thing is said: server, question, work, pending changes, nothing", () => {
  const busy = turn({ ending: "running", parts: [tool("bash", "pytest -q")] });
  const down: ServerState = { kind: "stopped", reason: "It ended.", crashed: true };
  const all = state({ questions: [question], turns: [busy], pending });
  assert.equal(said(all, down), "$(warning) Indwell is down");
  assert.equal(said(all), "$(question) Indwell asks");
  assert.match(said({ ...all, questions: [] }), /^\$\(loading~spin\) Run pytest -q$/);
  assert.equal(said(state({ pending })), "$(diff) Indwell: 3 changes pending in 2 files");
  assert.equal(said(state({})), "$(comment-discussion) Indwell");
});

test("what is spoken has no icons in it, and says what the tooltip does", () => {
  const words = statusWords(RUNNING, state({ questions: [question] }));
  assert.equal(words.tone, "asks");
  assert.equal(words.spoken, "Indwell asks. Run a command?");
});

test("where no model can be called, the tooltip says so, and what to do", () => {
  const status: StatusResult = {
    session: null,
    title: "",
    mode: "review",
    modes: ["review"],
    model: "",
    lacking: "no model is set; run `indwell login`",
    trusted: true,
    undecided: "",
    unapproved: [],
    demo: "",
    running: null,
    beside: [],
    version: "1",
    pictures: null,
    cost: null,
    effort: "",
    efforts: [],
  };
  const { tooltip } = statusWords(RUNNING, state({ status }));
  assert.deepEqual(tooltip.slice(0, 2), ["No model is set yet.", "Connect a model"]);
});

test("a long target keeps its end, and draws no icon", () => {
  const busy = turn({ ending: "running", parts: [tool("read", `${"long/".repeat(20)}$(bug).py`)] });
  const text = said(state({ turns: [busy] }));
  assert.ok(text.endsWith("$ (bug).py"), text);
  assert.ok(text.length < 70, text);
});

test("only a turn that ran a moment ago and went wrong is told, and once", () => {
  const before = state({ turns: [turn({ ending: "running" })] });
  const failed = state({ turns: [turn({ ending: "failed", message: "No credit left" })] });
  assert.deepEqual(noticesOf(before, failed), [
    {
      key: "turn s 1",
      about: "turn",
      level: "warning",
      words: "Indwell: No credit left",
      nonce: null,
    },
  ]);
  assert.deepEqual(noticesOf(failed, failed), []);
  assert.deepEqual(noticesOf(state({}), failed), []);
  assert.deepEqual(noticesOf(before, state({ turns: [turn({ ending: "done" })] })), []);
});

test("each question is told once", () => {
  const now = state({ questions: [question] });
  assert.deepEqual(
    noticesOf(state({}), now).map((one) => `${one.about}: ${one.words}`),
    ["question: Indwell asks: Run a command?"],
  );
  assert.deepEqual(noticesOf(now, now), []);
});
