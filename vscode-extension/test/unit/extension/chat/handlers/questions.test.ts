/** A question accepts one answer, which needs the question's nonce and was offered. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { Cancel } from "../../../../../src/extension/chat/backend.ts";
import { Questions } from "../../../../../src/extension/chat/handlers/questions.ts";
import type { PermissionParams } from "../../../../../src/protocol.ts";
import { permission } from "../../../fixtures.ts";
import { makeEvent } from "../../../shared/state/make-event.ts";
import { fakeRoom } from "../fake-room.ts";

const ASKED = permission({
  id: "q1",
  detail: "rm -r build/",
  reason: "not covered by a rule",
  rule: "rm *",
  cwd: "/shop",
  sandbox: "sandboxed",
});
const TEXT_QUESTION = {
  prompt: "Which?",
  placeholder: "",
  by: "model",
  options: ["the old one", "the new one"],
  session: "s",
  id: "c1",
} as const;
const HUNK = { header: "@@", text: "+x" };

function askPermission(asked: Partial<PermissionParams> = {}) {
  const { store } = fakeRoom();
  let count = 0;
  let shown = 0;
  const questions = new Questions(
    store,
    () => `nonce-${++count}`,
    () => {
      shown += 1;
    },
  );
  const token = new Cancel();
  const answer = questions.permission({ ...ASKED, ...asked }, token);
  return { store, questions, token, answer, shown: () => shown };
}

test("a question accepts one answer with its nonce and then disappears", async () => {
  const { store, questions, answer, shown } = askPermission();
  assert.equal(store.state.questions.length, 1);
  assert.equal(shown(), 1);
  assert.equal(questions.answer("nonce-2", "always", null), false);
  assert.equal(questions.answer("q1", "always", null), false);
  assert.equal(store.state.questions.length, 1);
  assert.equal(questions.answer("nonce-1", "once", null), true);
  assert.equal(questions.answer("nonce-1", "always", null), false);
  assert.deepEqual(await answer, { answer: "once" });
  assert.deepEqual(store.state.questions, []);
});

test("without a rule the answers session and always count as no", async () => {
  for (const given of ["session", "always"] as const) {
    const { questions, answer } = askPermission({ rule: "" });
    questions.answer("nonce-1", given, null);
    assert.deepEqual(await answer, { answer: "no" });
  }
});

test("only hunks of the question can be allowed, and an answer without such hunks counts as no", async () => {
  const hunks = ["a", "b"].map((id) => ({ id, ...HUNK }));
  const some = askPermission({ hunks });
  some.questions.answer("nonce-1", "once", ["b", "other"]);
  assert.deepEqual(await some.answer, { answer: "once", hunks: ["b"] });
  const none = askPermission({ hunks });
  none.questions.answer("nonce-1", "once", ["other"]);
  assert.deepEqual(await none.answer, { answer: "no" });
});

test("a cancelled, withdrawn or cleared question is answered no", async () => {
  const back = askPermission();
  back.token.cancel();
  assert.deepEqual(await back.answer, { answer: "no" });
  assert.deepEqual(back.store.state.questions, []);
  const withdrawn = askPermission();
  withdrawn.questions.withdrawn("q1", "s");
  assert.deepEqual(await withdrawn.answer, { answer: "no" });
  const gone = askPermission();
  gone.questions.clear();
  assert.deepEqual(await gone.answer, { answer: "no" });
  assert.deepEqual(gone.store.state.questions, []);
});

test("text answers a question for text and cannot answer a permission question", async () => {
  const { questions, answer, store } = askPermission();
  const words = questions.ask(TEXT_QUESTION, new Cancel());
  assert.equal(questions.said("nonce-1", "yes"), false);
  assert.equal(questions.answer("nonce-2", "once", null), false);
  assert.equal(questions.said("nonce-2", "this one"), true);
  assert.deepEqual(await words, { text: "this one" });
  assert.equal(store.state.questions.length, 1);
  questions.answer("nonce-1", "no", null);
  assert.deepEqual(await answer, { answer: "no" });
});

test("a question is answered no when a turn of its session ends, not when another session's turn ends", async () => {
  const { store, questions, answer } = askPermission();
  questions.asked("q1", "s");
  questions.finished("other");
  assert.equal(store.state.questions.length, 1);
  questions.finished("s");
  assert.deepEqual(store.state.questions, []);
  assert.deepEqual(await answer, { answer: "no" });
});

test("an option is chosen once by its index, and an unknown index is refused", async () => {
  const { questions, answer } = askPermission();
  const words = questions.ask(TEXT_QUESTION, new Cancel());
  assert.equal(questions.chosen("nonce-2", 2), false);
  assert.equal(questions.chosen("nonce-1", 0), false);
  assert.equal(questions.chosen("nonce-2", 1), true);
  assert.equal(questions.chosen("nonce-2", 1), false);
  assert.deepEqual(await words, { text: null, chosen: 1 });
  questions.clear();
  assert.deepEqual(await answer, { answer: "no" });
});

test("a question about a sub-agent's call names the tool and the sub-agent", () => {
  const { store } = fakeRoom();
  const questions = new Questions(
    store,
    () => "n",
    () => undefined,
  );
  store.dispatch({ type: "opened", session: "s" });
  const call = { type: "toolStarted", turn: 1, name: "bash" } as const;
  const events = [
    { ...call, id: "a1", name: "agent", target: "explore: find the tax", agent: "" },
    { ...call, id: "a1.c1", target: "rm -r build/", agent: "a1" },
    {
      type: "permissionAsked",
      turn: 1,
      id: "a1.c1",
      question: "q1",
      title: "",
      detail: "",
      reason: "",
      agent: "a1",
    },
  ] as const;
  for (const [seq, event] of events.entries())
    store.dispatch({ type: "event", session: "s", seq: seq + 1, event: makeEvent(event), at: 0 });
  void questions.permission(ASKED, new Cancel());
  const [question] = store.state.questions;
  assert.ok(question?.kind === "permission");
  assert.deepEqual([question.tool, question.agent], ["bash", "explore: find the tax"]);
});
