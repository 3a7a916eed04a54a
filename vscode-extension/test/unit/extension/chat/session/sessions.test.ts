/** The list of sessions, opening, deleting, rewinding, saying it otherwise. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { Sending } from "../../../../../src/extension/chat/handlers/sending.ts";
import { Branches } from "../../../../../src/extension/chat/session/branches.ts";
import { Intake } from "../../../../../src/extension/chat/session/intake.ts";
import { Pages } from "../../../../../src/extension/chat/session/pages.ts";
import { Refresh } from "../../../../../src/extension/chat/session/refresh.ts";
import { Sessions } from "../../../../../src/extension/chat/session/sessions.ts";
import type { SessionRow } from "../../../../../src/protocol.ts";
import { RandomServer, random } from "../../../shared/state/random-session.ts";
import { fakeRoom, settle } from "../fake-room.ts";

function house(chosen?: () => string | null) {
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
    sessions_: sessions,
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

test("opening a session takes it up and shows its turns, with what it gives back", async () => {
  const one = house();
  one.backend.obey("indwell.resume", () =>
    resumed("unsent", ["nobody knows what became of `make`"]),
  );
  await one.openSession({ type: "openSession", session: "s" });
  const { session, turns, draft, banner } = one.store.state;
  assert.deepEqual([session, turns.length, draft.text], ["s", 2, "unsent"]);
  assert.equal(banner?.text, "nobody knows what became of `make`");
  assert.deepEqual(one.backend.calls("indwell.resume"), [{ session: "s", wait: true, keep: true }]);
});

test("a running turn goes on when another session is opened, and the session is not followed", async () => {
  const one = house(() => null);
  one.backend.obey("indwell.resume", () => resumed());
  one.store.dispatch({ type: "opened", session: "other" });
  const other = new RandomServer("other", random(6));
  const [first] = other.turn();
  if (first === undefined) assert.fail("a turn begins");
  one.board.heard(first);
  one.intake.take(first);
  await one.openSession({ type: "openSession", session: "s" });
  assert.deepEqual(one.ports.did, []);
  assert.deepEqual(
    one.store.state.marks.map(({ session, work }) => [session, work]),
    [["other", "running"]],
  );
  const [next] = other.turn();
  if (next === undefined) assert.fail("a turn begins");
  one.intake.take(next);
  assert.equal(one.store.state.session, "s");
});

test("the list is searched and grows page by page", async () => {
  const one = house();
  const pages = [
    { sessions: [row("c"), row("b")], more: true },
    { sessions: [row("b"), row("a")], more: false },
  ];
  one.backend.answer("indwell/sessions", () => pages.shift() ?? { sessions: [], more: false });
  await one.sessions({ type: "sessions", query: "x", more: false });
  await one.sessions({ type: "sessions", query: "x", more: true });
  const ids = one.store.state.list?.rows.map((session) => session.id);
  assert.deepEqual([ids, one.store.state.list?.more], [["c", "b", "a"], false]);
  assert.deepEqual(one.backend.calls("indwell/sessions"), [
    { query: "x", limit: 30 },
    { query: "x", limit: 30, before: "b" },
  ]);
});

test("a session goes only after a yes, and a new one begins if it was the one that is shown", async () => {
  for (const chosen of [null, "Delete"]) {
    const one = house(() => chosen);
    one.backend.answer("indwell/delete", () => ({ deleted: true }));
    one.backend.obey("indwell.newSession", () => null);
    one.store.dispatch({ type: "opened", session: "s" });
    await one.deleteSession({ type: "deleteSession", session: "s" });
    assert.equal(one.backend.calls("indwell/delete").length, chosen === null ? 0 : 1);
    assert.equal(one.store.state.session, chosen === null ? "s" : null);
  }
});

test("a rewind shows what it left behind as left, and gives the words back", async () => {
  const one = house(() => "Conversation and Files");
  await one.intake.open("s");
  one.backend.obey("indwell.rewind", () => {
    one.server.turns.forEach((turn, place) => {
      one.server.turns[place] = { ...turn, left: turn.turn > 1 };
    });
    return resumed("prompt 2");
  });
  await one.rewind({ type: "rewind", turn: 1, files: null });
  assert.deepEqual(one.backend.calls("indwell.rewind"), [
    { session: "s", turn: 1, files: true, wait: true },
  ]);
  assert.deepEqual(
    one.store.state.turns.map((turn) => turn.left),
    [false, true],
  );
  assert.equal(one.store.state.draft.text, "prompt 2");
});

test("words that are said otherwise go out behind the turn before", async () => {
  const one = house();
  await one.intake.open("s");
  one.backend.obey("indwell.rewind", () => resumed("prompt 2"));
  one.backend.answer("indwell/prompt", () => new Promise(() => {}));
  await one.resend({ type: "resend", turn: 2, text: "better words" });
  await settle();
  assert.deepEqual(one.backend.calls("indwell.rewind"), [
    { session: "s", turn: 1, files: false, wait: true },
  ]);
  const prompt = {
    text: "better words",
    session: "s",
    mode: "review",
    mentions: [],
    attachments: [],
  };
  assert.deepEqual(one.backend.calls("indwell/prompt"), [prompt]);
  assert.notEqual(one.store.state.draft.mode, "replace");
});

test("words that could not be said otherwise come back", async () => {
  const one = house();
  await one.intake.open("s");
  one.backend.obey("indwell.rewind", () => null);
  await one.resend({ type: "resend", turn: 2, text: "better words" });
  assert.equal(one.store.state.draft.text, "better words");
});

test("words that could not be said otherwise come back also if the server fails", async () => {
  const one = house();
  await one.intake.open("s");
  one.backend.obey("indwell.rewind", () => {
    throw new Error("the log cannot be written");
  });
  await assert.rejects(async () => one.resend({ type: "resend", turn: 2, text: "better words" }));
  assert.equal(one.store.state.draft.text, "better words");
});

test("saying it otherwise twice in a row goes back once", async () => {
  const one = house();
  await one.intake.open("s");
  one.backend.obey("indwell.rewind", () => resumed("prompt 2"));
  one.backend.answer("indwell/prompt", () => new Promise(() => {}));
  await Promise.all([1, 2].map(() => one.resend({ type: "resend", turn: 2, text: "better" })));
  await settle();
  assert.equal(one.backend.calls("indwell.rewind").length, 1);
  assert.equal(one.backend.calls("indwell/prompt").length, 1);
});

test("a rewind and other words stop a running turn only after a yes", async () => {
  const one = house(() => null);
  await one.intake.open("s");
  const [first] = one.server.turn();
  if (first === undefined) assert.fail("a turn begins");
  one.intake.take(first);
  await one.rewind({ type: "rewind", turn: 1, files: false });
  await one.resend({ type: "resend", turn: 2, text: "better" });
  assert.deepEqual(one.ports.did, ["confirm Rewind?", "confirm Send these words instead?"]);
  assert.deepEqual(one.backend.calls("indwell.rewind"), []);
  assert.deepEqual([one.store.state.session, one.store.state.draft.text], ["s", "better"]);
});

test("of two sessions that are opened quickly the newest is shown", async () => {
  const one = house();
  one.store.dispatch({ type: "opened", session: "other" });
  let answer: () => void = () => {};
  one.backend.obey("indwell.resume", (argument) => {
    const session = argument?.session ?? "s";
    if (session === "s") return resumed();
    return new Promise((resolve) => {
      answer = () => resolve({ ...resumed(), session });
    });
  });
  const slow = one.openSession({ type: "openSession", session: "slow" });
  await settle();
  const quick = one.openSession({ type: "openSession", session: "s" });
  await settle();
  answer();
  await Promise.all([slow, quick]);
  assert.equal(one.store.state.session, "s");
});

test("a session that the server does not delete stays in the panel", async () => {
  const one = house(() => "Delete");
  await one.intake.open("s");
  one.backend.answer("indwell/delete", () => {
    throw new Error("another editor has it open");
  });
  await assert.rejects(async () => one.deleteSession({ type: "deleteSession", session: "s" }));
  assert.deepEqual([one.store.state.session, one.store.state.turns.length], ["s", 2]);
});
