/** The words of the inline field while its turn runs, and the outcome of the turn. */
import assert from "node:assert/strict";
import { test } from "node:test";
import {
  linesWords,
  stepWords,
  turnOutcome,
} from "../../../../src/extension/editor/inline/inline-words.ts";
import type { Event, TurnFinished } from "../../../../src/protocol.ts";
import { usage } from "../../fixtures.ts";

const TOOL: Event = {
  type: "toolStarted",
  turn: 1,
  id: "t",
  name: "edit_file",
  target: "shop/invoice.py",
  arguments: "{}",
  agent: "",
};

function ended(how: Partial<TurnFinished>): TurnFinished {
  return {
    type: "turnFinished",
    turn: 1,
    ending: "done",
    message: "",
    answer: "",
    draft: "",
    rounds: 1,
    usage: usage(1, 1),
    cost: null,
    seconds: 1,
    changes: [],
    retryable: false,
    outgrown: false,
    remedy: "",
    figures: {},
    toReview: 0,
    verified: "",
    agent: "",
    ...how,
  };
}

test("the field shows its lines and the current step, but no step of a sub-agent", () => {
  assert.deepEqual([linesWords(2, 2), linesWords(2, 8)], ["line 3", "lines 3–9"]);
  assert.equal(stepWords(TOOL), "Edit shop/invoice.py");
  assert.equal(stepWords({ ...TOOL, agent: "explore" }), null);
});

test("a turn with changes or a cancelled turn is done, an answer goes to the chat, and a failure has a reason", () => {
  const changes = [{ path: "a.py", added: 1, removed: 1, created: false }];
  assert.deepEqual(turnOutcome(ended({ changes, ending: "failed" })), { kind: "done" });
  assert.deepEqual(turnOutcome(ended({ ending: "cancelled" })), { kind: "done" });
  assert.deepEqual(turnOutcome(ended({ answer: "It is so." })), { kind: "answered" });
  assert.deepEqual(turnOutcome(ended({ ending: "failed", message: "No credit left." })), {
    kind: "failed",
    words: "No credit left.",
  });
});
