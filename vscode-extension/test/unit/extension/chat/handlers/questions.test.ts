/** A question is answered once, by who has its nonce, and with what was offered. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { Cancel } from "../../../../../src/extension/chat/backend.ts";
import { Questions } from "../../../../../src/extension/chat/handlers/questions.ts";
import type { PermissionParams } from "../../../../../src/protocol.ts";
import { makeEvent } from "../../../shared/state/make-event.ts";
import { fakeRoom } from "../fake-room.ts";

const ASKED: PermissionParams = {
  id: "q1",
  kind: "command",
  title: "Run a command?",
  detail: "rm -r build/",
  reason: "not covered by a rule",
  rule: "rm *",
  cwd: "/shop",
  session: "",
  sandbox: "sandboxed",
  more: "",
  why: "",
  wanted: false,
  risky: [],
  hunks: [],
};
const WORDS = {
  prompt: "Which?",
  placeholder: "",
  by: "model",
  options: ["the old one", "the new one"],
  session: "s",
  id: "c1",
} as const;
const HUNK = { header: "@@", text: "+x" };

function asking(asked: Partial<PermissionParams> = {}) {
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

test("the answer with the nonce counts, once, and the card goes", async () => {
  const { store, questions, answer, shown } = asking();
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

test("session and always count as no where no rule is offered", async () => {
  for (const said of ["session", "always"] as const) {
    const { questions, answer } = asking({ rule: "" });
    questions.answer("nonce-1", said, null);
    assert.deepEqual(await answer, { answer: "no" });
  }
});

test("only hunks that were asked about can be allowed; none of them is no", async () => {
  const hunks = ["a", "b"].map((id) => ({ id, ...HUNK }));
  const some = asking({ hunks });
  some.questions.answer("nonce-1", "once", ["b", "other"]);
  assert.deepEqual(await some.answer, { answer: "once", hunks: ["b"] });
  const none = asking({ hunks });
  none.questions.answer("nonce-1", "once", ["other"]);
  assert.deepEqual(await none.answer, { answer: "no" });
});

test("a question that is taken back, withdrawn or left by the server is answered no", async () => {
  const back = asking();
  back.token.cancel();
  assert.deepEqual(await back.answer, { answer: "no" });
  assert.deepEqual(back.store.state.questions, []);
  const withdrawn = asking();
  withdrawn.questions.withdrawn("q1", "s");
  assert.deepEqual(await withdrawn.answer, { answer: "no" });
  const gone = asking();
  gone.questions.clear();
  assert.deepEqual(await gone.answer, { answer: "no" });
  assert.deepEqual(gone.store.state.questions, []);
});

test("words answer a question for words, and cannot answer a permission", async () => {
  const { questions, answer, store } = asking();
  const words = questions.ask(WORDS, new Cancel());
  assert.equal(questions.said("nonce-1", "yes"), false);
  assert.equal(questions.answer("nonce-2", "once", null), false);
  assert.equal(questions.said("nonce-2", "this one"), true);
  assert.deepEqual(await words, { text: "this one" });
  assert.equal(store.state.questions.length, 1);
  questions.answer("nonce-1", "no", null);
  assert.deepEqual(await answer, { answer: "no" });
});

test("a question goes with the turn that asked it, and not with another session's", async () => {
  const { store, questions, answer } = asking();
  questions.asked("q1", "s");
  questions.finished("other");
  assert.equal(store.state.questions.length, 1);
  questions.finished("s");
  assert.deepEqual(store.state.questions, []);
  assert.deepEqual(await answer, { answer: "no" });
});

test("an option is chosen by its place; one that was not offered is none", async () => {
  const { questions, answer } = asking();
  const words = questions.ask(WORDS, new Cancel());
  assert.equal(questions.chosen("nonce-2", 2), false);
  assert.equal(questions.chosen("nonce-1", 0), false);
  assert.equal(questions.chosen("nonce-2", 1), true);
  assert.equal(questions.chosen("nonce-2", 1), false);
  assert.deepEqual(await words, { text: null, chosen: 1 });
  questions.clear();
  assert.deepEqual(await answer, { answer: "no" });
});

test("a question of a sub-agent's call names it", () => {
  const { store } = fakeRoom();
  const questions = new Questions(
    store,
    () => "n",
    () => undefined,
  );
  store.dispatch({ type: "opened", session: "s" });
  const call = { type: "toolStarted", turn: 1, name: "bash" } as const;
  const happened = [
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
  for (const [seq, event] of happened.entries())
    store.dispatch({ type: "event", session: "s", seq: seq + 1, event: makeEvent(event), at: 0 });
  void questions.permission(ASKED, new Cancel());
  const [question] = store.state.questions;
  assert.ok(question?.kind === "permission");
  assert.deepEqual([question.tool, question.agent], ["bash", "explore: find the tax"]);
});
