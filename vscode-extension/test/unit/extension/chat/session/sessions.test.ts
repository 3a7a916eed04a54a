/** Listing, opening, deleting and rewinding sessions, and sending an edited prompt. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { Sending } from "../../../../../src/extension/chat/handlers/sending.ts";
import { Branches } from "../../../../../src/extension/chat/session/branches.ts";
import { Intake } from "../../../../../src/extension/chat/session/intake.ts";
import { Pages } from "../../../../../src/extension/chat/session/pages.ts";
import { Refresh } from "../../../../../src/extension/chat/session/refresh.ts";
import { Sessions } from "../../../../../src/extension/chat/session/sessions.ts";
import type { EventParams, SessionRow } from "../../../../../src/protocol.ts";
import { RandomServer, random } from "../../../shared/state/random-session.ts";
import { fakeRoom, settle } from "../fake-room.ts";

function makeSessions(chosen?: () => string | null) {
  const room = fakeRoom(chosen);
  const server = new RandomServer("s", random(5));
  for (const _ of server.turn());
  for (const _ of server.turn());
  room.backend.answer("indwell/session", ({ before = null, limit = 20 }) =>
    server.page(before, limit),
  );
  const intake = new Intake(room, new Pages(room), (error) => assert.fail(String(error)));
  const refresh = new Refresh(room, () => {});
  const sending = new Sending(room, { setTyped: () => {}, went: () => {} });
  const sessions = new Sessions(room, intake, refresh);
  const branches = new Branches(room, intake, refresh, sessions, sending);
  return {
    ...room,
    server,
    intake,

    ...sessions.handlers(),
    ...branches.handlers(),
  };
}

function resumed(draft = "", notices: readonly string[] = []) {
  return { session: "s", turns: 2, model: "m", draft, notices };
}

function row(id: string): SessionRow {
  const usage = { input: 0, cached: 0, output: 0, cost: null };
  return {
    id,
    at: "",
    model: "m",
    title: id,
    preview: "",
    turns: 1,
    usage,
    open: false,
    notices: [],
    task: "",
  };
}

test("opening a session resumes it and shows its turns, its draft and its notice", async () => {
  const chat = makeSessions();
  chat.backend.answerCommand("indwell.resume", () =>
    resumed("unsent", ["nobody knows what became of `make`"]),
  );
  await chat.openSession({ type: "openSession", session: "s" });
  const { session, turns, draft, banner } = chat.store.state;
  assert.deepEqual([session, turns.length, draft.text], ["s", 2, "unsent"]);
  assert.equal(banner?.text, "nobody knows what became of `make`");
  assert.deepEqual(chat.backend.calls("indwell.resume"), [
    { session: "s", wait: true, keep: true },
  ]);
});

test("opening another session keeps a running turn in the background and does not follow its session", async () => {
  const chat = makeSessions(() => null);
  chat.backend.answerCommand("indwell.resume", () => resumed());
  chat.store.dispatch({ type: "opened", session: "other" });
  const other = new RandomServer("other", random(6));
  const [first] = other.turn();
  if (first === undefined) assert.fail("no turn has started");
  chat.board.heard(first);
  chat.intake.take(first);
  await chat.openSession({ type: "openSession", session: "s" });
  assert.deepEqual(chat.ports.did, []);
  assert.deepEqual(
    chat.store.state.marks.map(({ session, work }) => [session, work]),
    [["other", "running"]],
  );
  const [next] = other.turn();
  if (next === undefined) assert.fail("no turn has started");
  chat.intake.take(next);
  assert.equal(chat.store.state.session, "s");
});

test("the list of sessions is searched and loaded page by page", async () => {
  const chat = makeSessions();
  const pages = [
    { sessions: [row("c"), row("b")], more: true },
    { sessions: [row("b"), row("a")], more: false },
  ];
  chat.backend.answer("indwell/sessions", () => pages.shift() ?? { sessions: [], more: false });
  await chat.sessions({ type: "sessions", query: "x", more: false });
  await chat.sessions({ type: "sessions", query: "x", more: true });
  const ids = chat.store.state.list?.rows.map((session) => session.id);
  assert.deepEqual([ids, chat.store.state.list?.more], [["c", "b", "a"], false]);
  assert.deepEqual(chat.backend.calls("indwell/sessions"), [
    { query: "x", limit: 30 },
    { query: "x", limit: 30, before: "b" },
  ]);
});

test("a session is deleted only after a confirmation, and deleting the shown session starts a new one", async () => {
  for (const chosen of [null, "Delete"]) {
    const chat = makeSessions(() => chosen);
    chat.backend.answer("indwell/delete", () => ({ deleted: true }));
    chat.backend.answerCommand("indwell.newSession", () => null);
    chat.store.dispatch({ type: "opened", session: "s" });
    await chat.deleteSession({ type: "deleteSession", session: "s" });
    assert.equal(chat.backend.calls("indwell/delete").length, chosen === null ? 0 : 1);
    assert.equal(chat.store.state.session, chosen === null ? "s" : null);
  }
});

test("a rewind marks the later turns as left and returns the prompt", async () => {
  const chat = makeSessions(() => "Conversation and Files");
  await chat.intake.open("s");
  chat.backend.answerCommand("indwell.rewind", () => {
    chat.server.turns.forEach((turn, place) => {
      chat.server.turns[place] = { ...turn, left: turn.turn > 1 };
    });
    return resumed("prompt 2");
  });
  await chat.rewind({ type: "rewind", turn: 1, files: null });
  assert.deepEqual(chat.backend.calls("indwell.rewind"), [
    { session: "s", turn: 1, files: true, wait: true },
  ]);
  assert.deepEqual(
    chat.store.state.turns.map((turn) => turn.left),
    [false, true],
  );
  assert.equal(chat.store.state.draft.text, "prompt 2");
});

test("an edited prompt is sent after a rewind to the turn before it", async () => {
  const chat = makeSessions();
  await chat.intake.open("s");
  chat.backend.answerCommand("indwell.rewind", () => resumed("prompt 2"));
  chat.backend.answer("indwell/prompt", () => new Promise(() => {}));
  await chat.resend({ type: "resend", turn: 2, text: "better words" });
  await settle();
  assert.deepEqual(chat.backend.calls("indwell.rewind"), [
    { session: "s", turn: 1, files: false, wait: true },
  ]);
  const prompt = {
    text: "better words",
    session: "s",
    mode: "review",
    mentions: [],
    attachments: [],
  };
  assert.deepEqual(chat.backend.calls("indwell/prompt"), [prompt]);
  assert.notEqual(chat.store.state.draft.mode, "replace");
});

test("an edited prompt returns if the rewind is refused", async () => {
  const chat = makeSessions();
  await chat.intake.open("s");
  chat.backend.answerCommand("indwell.rewind", () => null);
  await chat.resend({ type: "resend", turn: 2, text: "better words" });
  assert.equal(chat.store.state.draft.text, "better words");
});

test("an edited prompt returns if the rewind fails", async () => {
  const chat = makeSessions();
  await chat.intake.open("s");
  chat.backend.answerCommand("indwell.rewind", () => {
    throw new Error("the log cannot be written");
  });
  await assert.rejects(async () => chat.resend({ type: "resend", turn: 2, text: "better words" }));
  assert.equal(chat.store.state.draft.text, "better words");
});

test("sending an edited prompt twice rewinds and sends once", async () => {
  const chat = makeSessions();
  await chat.intake.open("s");
  chat.backend.answerCommand("indwell.rewind", () => resumed("prompt 2"));
  chat.backend.answer("indwell/prompt", () => new Promise(() => {}));
  await Promise.all([1, 2].map(() => chat.resend({ type: "resend", turn: 2, text: "better" })));
  await settle();
  assert.equal(chat.backend.calls("indwell.rewind").length, 1);
  assert.equal(chat.backend.calls("indwell/prompt").length, 1);
});

test("after a confirmation a rewind and an edited prompt reach the server, which ends the running turn", async () => {
  const answers = ["Stop and Rewind", "Stop and Send"];
  const chat = makeSessions(() => answers.shift() ?? null);
  await chat.intake.open("s");
  let rest: Iterable<EventParams> = [];
  const run = (): void => {
    const turn = chat.server.turn();
    const { value } = turn.next();
    if (value === undefined) assert.fail("no turn has started");
    chat.intake.take(value);
    assert.equal(chat.store.state.turns.at(-1)?.ending, "running");
    rest = turn;
  };
  // The server ends the running turn before it rewinds.
  chat.backend.answerCommand("indwell.rewind", (argument) => {
    for (const event of rest) chat.intake.take(event);
    chat.server.turns.forEach((row, place) => {
      chat.server.turns[place] = { ...row, left: row.turn > (argument?.turn ?? 0) };
    });
    return resumed("prompt 3");
  });
  chat.backend.answer("indwell/prompt", () => new Promise(() => {}));
  const shown = () => chat.store.state.turns.map((turn) => [turn.ending, turn.left]);
  run();
  await chat.rewind({ type: "rewind", turn: 2, files: false });
  assert.deepEqual(chat.ports.did, ["confirm Rewind?"]);
  assert.deepEqual(chat.backend.calls("indwell.rewind"), [
    { session: "s", turn: 2, files: false, wait: true },
  ]);
  const lived = ["done", false];
  const left = ["done", true];
  assert.deepEqual(shown(), [lived, lived, left]);
  assert.equal(chat.store.state.draft.text, "prompt 3");
  run();
  await chat.resend({ type: "resend", turn: 2, text: "better" });
  await settle();
  assert.deepEqual(chat.ports.did.slice(1), ["confirm Send these words instead?"]);
  assert.equal(chat.backend.calls("indwell.rewind").length, 2);
  assert.deepEqual(shown(), [lived, left, left, left]);
  assert.equal(chat.backend.calls("indwell/prompt").length, 1);
});

test("without a confirmation a rewind and an edited prompt do not stop a running turn", async () => {
  const chat = makeSessions(() => null);
  await chat.intake.open("s");
  const [first] = chat.server.turn();
  if (first === undefined) assert.fail("no turn has started");
  chat.intake.take(first);
  await chat.rewind({ type: "rewind", turn: 1, files: false });
  await chat.resend({ type: "resend", turn: 2, text: "better" });
  assert.deepEqual(chat.ports.did, ["confirm Rewind?", "confirm Send these words instead?"]);
  assert.deepEqual(chat.backend.calls("indwell.rewind"), []);
  assert.deepEqual([chat.store.state.session, chat.store.state.draft.text], ["s", "better"]);
});

test("of two sessions that are opened in quick succession the second is shown", async () => {
  const chat = makeSessions();
  chat.store.dispatch({ type: "opened", session: "other" });
  let answer: () => void = () => {};
  chat.backend.answerCommand("indwell.resume", (argument) => {
    const session = argument?.session ?? "s";
    if (session === "s") return resumed();
    return new Promise((resolve) => {
      answer = () => resolve({ ...resumed(), session });
    });
  });
  const slow = chat.openSession({ type: "openSession", session: "slow" });
  await settle();
  const quick = chat.openSession({ type: "openSession", session: "s" });
  await settle();
  answer();
  await Promise.all([slow, quick]);
  assert.equal(chat.store.state.session, "s");
});

test("a session that the server fails to delete stays in the panel", async () => {
  const chat = makeSessions(() => "Delete");
  await chat.intake.open("s");
  chat.backend.answer("indwell/delete", () => {
    throw new Error("another editor has it open");
  });
  await assert.rejects(async () => chat.deleteSession({ type: "deleteSession", session: "s" }));
  assert.deepEqual([chat.store.state.session, chat.store.state.turns.length], ["s", 2]);
});
