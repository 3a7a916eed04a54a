/** What the field at the selection says while its turn runs, and how it ends. */
import assert from "node:assert/strict";
import { test } from "node:test";
import {
  linesWords,
  stepWords,
  turnOutcome,
} from "../../../../src/extension/editor/inline/inline-words.ts";
import type { Event, TurnFinished } from "../../../../src/protocol.ts";

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
    usage: {
      input: 1,
      output: 1,
      cached: 0,
      cache_write: 0,
      cache_hour: 0,
      thinking: 0,
      reported: true,
    },
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

test("the place and the present step are told in few words; steps of sub-agents are not", () => {
  assert.deepEqual([linesWords(2, 2), linesWords(2, 8)], ["line 3", "lines 3–9"]);
  assert.equal(stepWords(TOOL), "Edit shop/invoice.py");
  assert.equal(stepWords({ ...TOOL, agent: "explore" }), null);
});

test("changes and a stop end the field, words go to the chat, and a failure gives the reason", () => {
  const changes = [{ path: "a.py", added: 1, removed: 1, created: false }];
  assert.deepEqual(turnOutcome(ended({ changes, ending: "failed" })), { kind: "done" });
  assert.deepEqual(turnOutcome(ended({ ending: "cancelled" })), { kind: "done" });
  assert.deepEqual(turnOutcome(ended({ answer: "It is so." })), { kind: "answered" });
  assert.deepEqual(turnOutcome(ended({ ending: "failed", message: "No credit left." })), {
    kind: "failed",
    words: "No credit left.",
  });
});
