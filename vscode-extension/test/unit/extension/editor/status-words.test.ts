import assert from "node:assert/strict";
import { test } from "node:test";
import { noticesOf } from "../../../../src/extension/editor/status/notices.ts";
import { statusWords } from "../../../../src/extension/editor/status/status-words.ts";
import type { ServerState } from "../../../../src/extension/server/state.ts";
import {
  initialState,
  type PanelState,
  type Question,
  type Turn,
} from "../../../../src/shared/state/state.ts";
import { emptyTurn } from "../../../../src/shared/state/turn-list.ts";
import { permission, statusResult, toolPart } from "../../fixtures.ts";

const RUNNING: ServerState = { kind: "running", version: "1" };

function turn(over: Partial<Turn>): Turn {
  return { ...emptyTurn("s", 1), ending: "done", ...over };
}

const asked = permission({ detail: "rm -r build" });
const question: Question = { kind: "permission", nonce: "n", asked, tool: null, agent: "" };
const pending = { total: 3, files: 2, added: 1, removed: 1, rows: [], undo: "" };
const state = (over: Partial<PanelState>): PanelState => ({
  ...initialState,
  connection: { kind: "ready" },
  ...over,
});
const statusText = (panel: PanelState, server: ServerState = RUNNING) =>
  statusWords(server, panel).text;

test("the status bar shows a server failure, else a question, the running call, pending changes or the name", () => {
  const busy = turn({ ending: "running", parts: [toolPart({ target: "pytest -q" })] });
  const down: ServerState = { kind: "stopped", reason: "It ended.", crashed: true };
  const all = state({ questions: [question], turns: [busy], pending });
  assert.equal(statusText(all, down), "$(warning) Indwell is down");
  assert.equal(statusText(all), "$(question) Indwell asks");
  assert.match(statusText({ ...all, questions: [] }), /^\$\(loading~spin\) Run pytest -q$/);
  assert.equal(statusText(state({ pending })), "$(diff) Indwell: 3 changes pending in 2 files");
  assert.equal(statusText(state({})), "$(comment-discussion) Indwell");
});

test("the text for screen readers has no icons and contains the question", () => {
  const words = statusWords(RUNNING, state({ questions: [question] }));
  assert.equal(words.tone, "asks");
  assert.equal(words.spoken, "Indwell asks. Run a command?");
});

test("without a model the tooltip says so and what to do next", () => {
  const status = statusResult({ model: "", lacking: "no model is set; run `indwell login`" });
  const { tooltip } = statusWords(RUNNING, state({ status }));
  assert.deepEqual(tooltip.slice(0, 2), ["No model is set yet.", "Connect a model"]);
});

test("a long target is cut to its end, and its text cannot draw an icon", () => {
  const busy = turn({
    ending: "running",
    parts: [toolPart({ name: "read", target: `${"long/".repeat(20)}$(bug).py` })],
  });
  const text = statusText(state({ turns: [busy] }));
  assert.ok(text.endsWith("$ (bug).py"), text);
  assert.ok(text.length < 70, text);
});

test("a turn that was running and failed is announced once", () => {
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

test("each question is announced once", () => {
  const now = state({ questions: [question] });
  assert.deepEqual(
    noticesOf(state({}), now).map((one) => `${one.about}: ${one.words}`),
    ["question: Indwell asks: Run a command?"],
  );
  assert.deepEqual(noticesOf(now, now), []);
});
