/** The chat without the editor, while the server starts, answers, ends and restarts. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { Cancel } from "../../../../src/extension/chat/backend.ts";
import { ChatCore } from "../../../../src/extension/chat/chat-core.ts";
import type { StatusResult } from "../../../../src/protocol.ts";
import { ownQuestions, sending, sessionOf } from "../../../../src/shared/state/selectors.ts";
import type { PanelState } from "../../../../src/shared/state/state.ts";
import { permission, statusResult } from "../../fixtures.ts";
import { RandomServer, random } from "../../shared/state/random-session.ts";
import { chatParts, serveSession } from "./fake-chat.ts";
import { fakeRoom, settle } from "./fake-room.ts";

const STATUS = statusResult();

/** The server's error for a session that another process has open. */
function heldElsewhere(): Error {
  const words = "session 's' is open in another editor; close it there";
  return Object.assign(new Error(words), { code: -32803, data: { reason: "openElsewhere" } });
}

function makeChat(memory = fakeRoom().ports.memory, status: Partial<StatusResult> = {}) {
  const room = fakeRoom();
  const server = serveSession(room);
  const { backend, clock } = room;
  backend.answer("indwell/status", () => ({ ...STATUS, ...status }));
  const logged: string[] = [];
  let revealed = 0;
  const backgroundQuestions: (readonly [string, string])[] = [];
  const core = new ChatCore({
    ...chatParts(room, memory),
    log: (words) => void logged.push(words),
    reveal: () => {
      revealed += 1;
    },
    askedBehind: (question, title) => void backgroundQuestions.push([sessionOf(question), title]),
  });
  const { did } = room.ports;
  return {
    core,
    backend,
    clock,
    server,
    memory,
    logged,
    did,
    backgroundQuestions,
    revealed: () => revealed,
  };
}

test("after a reload the chat resumes its last session and shows its turns", async () => {
  const first = makeChat();
  await first.core.started();
  for (const event of first.server.turn()) first.core.event(event);
  assert.equal(first.core.state.session, "s");
  first.core.dispose();
  const second = makeChat(first.memory);
  await second.core.started();
  assert.equal(second.core.state.turns.length, 1);
  assert.deepEqual(second.backend.calls("indwell.resume"), [{ session: "s", quiet: true }]);
});

test("without a model the last session is shown but not resumed", async () => {
  const { memory } = makeChat();
  memory.set("session", "s");
  const chat = makeChat(memory, { lacking: "no key" });
  await chat.core.started();
  assert.equal(chat.core.state.turns.length, 1);
  assert.deepEqual(chat.backend.calls("indwell.resume"), []);
});

test("a prompt waits while the earlier window still has the session open", async () => {
  const { memory } = makeChat();
  memory.set("session", "s");
  const chat = makeChat(memory);
  let tries = 0;
  chat.backend.answerCommand("indwell.resume", () => {
    tries += 1;
    if (tries < 4) throw heldElsewhere();
    return { session: "s", turns: 1, model: "m", draft: "", notices: [] };
  });
  chat.backend.answer("indwell/prompt", () => new Promise(() => {}));
  const started = chat.core.started();
  await settle();
  await chat.core.bridge.take({ type: "send", text: "go on", how: "auto" });
  await settle();
  assert.equal(chat.core.state.outgoing.length, 1);
  assert.deepEqual(chat.backend.calls("indwell/prompt"), []);
  const { connection } = chat.core.state;
  assert.match(
    (connection.kind === "ready" && connection.waiting) || "",
    /^Waiting for the earlier window/,
  );
  for (let second = 0; second < 4; second += 1) {
    chat.clock.advance(1000);
    await settle();
  }
  await started;
  await settle();
  assert.equal(tries, 4);
  assert.equal(chat.backend.calls("indwell/prompt").length, 1);
  assert.equal(chat.core.state.banner, null);
  assert.deepEqual(chat.core.state.connection, { kind: "ready" });
});

test("losing the server ends the wait for a session, without another attempt to resume", async () => {
  const { memory } = makeChat();
  memory.set("session", "s");
  const chat = makeChat(memory);
  chat.backend.answerCommand("indwell.resume", () => {
    throw heldElsewhere();
  });
  const started = chat.core.started();
  await settle();
  chat.core.gone({ kind: "stopped", reason: "The server was stopped." });
  chat.clock.advance(1000);
  await started;
  chat.clock.advance(600_000);
  await settle();
  assert.equal(chat.backend.calls("indwell.resume").length, 1);
  assert.deepEqual([chat.core.state.connection.kind, chat.core.state.banner], ["stopped", null]);
});

test("a session that stays open elsewhere for minutes gives a warning, and the prompt returns", async () => {
  const { memory } = makeChat();
  memory.set("session", "s");
  const chat = makeChat(memory);
  chat.backend.answerCommand("indwell.resume", () => {
    throw heldElsewhere();
  });
  chat.backend.answer("indwell/prompt", () => {
    throw heldElsewhere();
  });
  const started = chat.core.started();
  await settle();
  await chat.core.bridge.take({ type: "send", text: "go on", how: "auto" });
  for (let second = 0; second < 400; second += 1) {
    chat.clock.advance(1000);
    await settle();
  }
  await started;
  await settle();
  assert.equal(chat.core.state.banner?.level, "warning");
  assert.match(chat.core.state.banner?.text ?? "", /^This session is open in another window/);
  assert.deepEqual([chat.core.state.draft.text, chat.core.state.outgoing], ["go on", []]);
});

test("a new session that is started during the wait gets the waiting prompt", async () => {
  const { memory } = makeChat();
  memory.set("session", "s");
  const chat = makeChat(memory);
  chat.backend.answerCommand("indwell.resume", () => {
    throw heldElsewhere();
  });
  chat.backend.answerCommand("indwell.newSession", () => null);
  chat.backend.answer("indwell/prompt", () => new Promise(() => {}));
  const started = chat.core.started();
  await settle();
  await chat.core.bridge.take({ type: "send", text: "go on", how: "auto" });
  await chat.core.bridge.take({ type: "command", command: "new" });
  chat.clock.advance(1000);
  await started;
  await settle();
  const [sent] = chat.backend.calls("indwell/prompt");
  assert.deepEqual(sent, { text: "go on", session: "new", mentions: [], attachments: [] });
  assert.deepEqual(chat.core.state.connection, { kind: "ready" });
});

test("a last session that no longer exists leaves an empty panel without a message", async () => {
  const { memory } = makeChat();
  memory.set("session", "gone");
  const chat = makeChat(memory);
  chat.backend.answer("indwell/session", () => {
    throw new Error("there is no session gone");
  });
  await chat.core.started();
  assert.deepEqual([chat.core.state.session, chat.core.state.banner], [null, null]);
});

test("a session that the server has open is shown instead of the stored one", async () => {
  const { memory } = makeChat();
  memory.set("session", "older");
  const chat = makeChat(memory, { session: "s" });
  await chat.core.started();
  assert.equal(chat.core.state.session, "s");
  assert.deepEqual(chat.backend.calls("indwell.resume"), []);
});

test("a question reveals the panel, accepts the answer with its nonce, and is answered no when the server ends", async () => {
  const chat = makeChat();
  await chat.core.started();
  const asked = permission();
  const first = chat.core.questions.permission(asked, new Cancel());
  assert.equal(chat.revealed(), 1);
  await chat.core.bridge.take({ type: "answer", nonce: "guessed", answer: "always", hunks: null });
  assert.equal(chat.core.state.questions.length, 1);
  await chat.core.bridge.take({ type: "answer", nonce: "nonce-1", answer: "once", hunks: null });
  assert.deepEqual(await first, { answer: "once" });
  const second = chat.core.questions.permission(asked, new Cancel());
  chat.core.gone({ kind: "restarting", reason: "The server ended." });
  assert.deepEqual(await second, { answer: "no" });
  assert.deepEqual(chat.core.state.questions, []);
  assert.deepEqual(chat.logged, ["An answer arrived without a question"]);
});

test("many events about changes cause one request for the pending changes", async () => {
  const chat = makeChat();
  await chat.core.started();
  await settle();
  const before = chat.backend.calls("indwell/changes").length;
  const event = { type: "hunksChanged", turn: 1, pending: 2, files: ["a"], agent: "" } as const;
  for (let seq = 1; seq <= 50; seq += 1) chat.core.event({ session: "other", seq, event });
  chat.clock.advance(1000);
  await settle();
  assert.equal(chat.backend.calls("indwell/changes").length, before + 1);
});

test("the list of models is requested only after a model is available", async () => {
  const chat = makeChat(undefined, { lacking: "no model is set" });
  chat.backend.answer("indwell/models", () => ({ models: [] }));
  await chat.core.started();
  chat.clock.advance(1_000);
  await settle();
  assert.equal(chat.backend.calls("indwell/models").length, 0);
  chat.backend.answer("indwell/status", () => STATUS);
  // The status arrives after the list of models was due.
  chat.core.refresh.soon("status");
  chat.clock.advance(50);
  await settle();
  chat.clock.advance(300);
  await settle();
  assert.equal(chat.backend.calls("indwell/models").length, 1);
});

test("a restarted server gets the chosen mode and model, but no looser mode after a new window or stricter settings", async () => {
  const settings = { mode: "review" as StatusResult["mode"], model: "m" };
  const chat = makeChat(undefined, {});
  const answerFrom = (room: ReturnType<typeof makeChat>) => {
    const modes: StatusResult["modes"] = ["plan", "ask", "review", "auto"];
    room.backend.answer("indwell/status", () => ({ ...STATUS, ...settings, modes }));
    room.backend.answer("indwell/models", () => ({ models: [] }));
    room.backend.answerCommand("indwell.mode", (argument) => {
      settings.mode = argument?.mode ?? settings.mode;
      return null as never;
    });
    room.backend.answer("indwell/setModel", ({ model }) => {
      settings.model = model;
      return { model };
    });
  };
  const choose = async (mode: string) => {
    await chat.core.bridge.take({ type: "mode", mode });
    await settle();
  };
  const restart = async (mode: StatusResult["mode"] = "review") => {
    chat.core.gone({ kind: "starting", reason: "" });
    Object.assign(settings, { mode, model: "m" });
    await chat.core.started();
  };
  answerFrom(chat);
  await chat.core.started();
  await choose("plan");
  await chat.core.bridge.take({ type: "model", model: "other" });
  await settle();
  await restart();
  assert.deepEqual(settings, { mode: "plan", model: "other" });
  await choose("auto");
  await restart();
  assert.deepEqual(settings, { mode: "auto", model: "other" });
  // A looser mode ends with the window, and when the settings become stricter.
  const two = makeChat(chat.memory);
  answerFrom(two);
  Object.assign(settings, { mode: "review", model: "m" });
  await two.core.started();
  assert.deepEqual(settings, { mode: "review", model: "other" });
  await restart("plan");
  assert.deepEqual(settings, { mode: "plan", model: "other" });
});

test("a restarted server gets the chosen mode and model before the prompt that was typed meanwhile", async () => {
  const { memory } = makeChat();
  memory.set("chosen", { mode: "plan", model: "other" });
  const chat = makeChat(memory);
  const settings = { mode: "review" as StatusResult["mode"], model: "m" };
  chat.backend.answer("indwell/status", () => ({
    ...STATUS,
    ...settings,
    modes: ["plan", "review"],
  }));
  chat.backend.answer("indwell/models", () => ({ models: [] }));
  let restored: () => void = () => {};
  chat.backend.answerCommand("indwell.mode", async (argument) => {
    await new Promise<void>((resolve) => {
      restored = resolve;
    });
    settings.mode = argument?.mode ?? settings.mode;
    return null as never;
  });
  chat.backend.answer("indwell/setModel", ({ model }) => {
    settings.model = model;
    return { model };
  });
  const modes: string[] = [];
  chat.backend.answer("indwell/prompt", () => {
    modes.push(`${settings.mode} ${settings.model}`);
    return new Promise(() => {});
  });
  const started = chat.core.started();
  await chat.core.bridge.take({ type: "send", text: "go on", how: "auto" });
  await settle();
  assert.deepEqual(chat.backend.calls("indwell.mode"), [{ mode: "plan" }]);
  assert.deepEqual(modes, [], "the prompt waits for the mode");
  restored();
  await started;
  await settle();
  assert.deepEqual(modes, ["plan other"]);
});

test("the trust button runs the editor's trust command instead of the server's", async () => {
  const { core, did, backend } = makeChat();
  await core.bridge.take({ type: "command", command: "trust" });
  assert.deepEqual(did, ["run indwell.trust"]);
  assert.deepEqual(backend.calls("indwell.trust"), []);
});

test("a question is answered no when the turn that asked it ends", async () => {
  const chat = makeChat();
  await chat.core.started();
  const events = [...chat.server.turn()];
  const last = events.pop();
  for (const event of events) chat.core.event(event);
  if (last === undefined) assert.fail("no turn has ended");
  const { session, seq, event } = last;
  const { id: question, title, detail, reason } = permission();
  const asks = { type: "permissionAsked", turn: event.turn, id: "c", agent: "" } as const;
  chat.core.event({ session, seq, event: { ...asks, question, title, detail, reason } });
  const answer = chat.core.questions.permission(permission(), new Cancel());
  assert.equal(chat.core.state.questions.length, 1);
  chat.core.event({ session, seq: seq + 1, event });
  assert.deepEqual(await answer, { answer: "no" });
  assert.deepEqual(chat.core.state.questions, []);
});

/** A chat that shows a new session while a turn of the session `other` runs. */
async function chatWithBackgroundTurn() {
  const chat = makeChat();
  chat.backend.answerCommand("indwell.newSession", () => null);
  await chat.core.started();
  const other = new RandomServer("other", random(9));
  const events = [...other.turn()];
  const [first] = events;
  if (first?.event.type !== "turnStarted") assert.fail("no turn has started");
  chat.core.event(first);
  assert.equal(chat.core.state.session, "other");
  await chat.core.bridge.perform({ type: "command", command: "new" });
  return { ...chat, other, events, words: first.event.words };
}

test("a background turn is marked as running, and is complete when its session is opened again", async () => {
  const chat = await chatWithBackgroundTurn();
  const { core, backend, events } = chat;
  assert.deepEqual(backend.calls("indwell.newSession"), [{ keep: true }]);
  assert.deepEqual([core.state.session, core.state.turns.length], [null, 0]);
  const works = () => core.state.marks.map((mark) => [mark.session, mark.work]);
  assert.deepEqual(works(), [["other", "running"]]);
  const half = Math.floor(events.length / 2);
  for (const event of events.slice(1, half)) core.event(event);
  assert.equal(core.state.session, null);
  backend.answerCommand("indwell.resume", () => ({
    session: "other",
    turns: 1,
    model: "m",
    draft: "",
    notices: [],
  }));
  const kept = events.slice(0, half);
  backend.answer("indwell/events", ({ after = 0 }) => ({
    session: "other",
    events: kept.filter((one) => one.seq > after).map(({ seq, event }) => ({ seq, event })),
    next: kept.at(-1)?.seq ?? 0,
    complete: true,
  }));
  backend.answer("indwell/session", ({ before = null, limit = 20 }) =>
    chat.other.page(before, limit),
  );
  await core.bridge.perform({ type: "openSession", session: "other" });
  for (const event of events.slice(half)) core.event(event);
  chat.clock.advance(1000);
  const watched = makeChat();
  await watched.core.started();
  for (const event of events) watched.core.event(event);
  watched.clock.advance(1000);
  const shown = (state: PanelState) =>
    state.turns.map((turn) => ({
      words: turn.words,
      ending: turn.ending,
      whole: turn.whole,
      parts: turn.parts.map((part) => ("text" in part ? part.text : part.key)),
    }));
  assert.deepEqual(shown(core.state), shown(watched.core.state));
  assert.deepEqual(core.state.marks, [], "the end of a shown turn is not marked");
});

test("a turn that ended in the background stays marked until its session is opened", async () => {
  const { core, backend, events, other } = await chatWithBackgroundTurn();
  for (const event of events.slice(1)) core.event(event);
  const marks = () => core.state.marks.map((mark) => [mark.session, mark.work]);
  assert.deepEqual(marks(), [["other", "done"]]);
  await core.bridge.perform({ type: "command", command: "new" });
  assert.deepEqual(marks(), [["other", "done"]]);
  const resumed = { session: "other", turns: 1, model: "m", draft: "", notices: [] };
  backend.answerCommand("indwell.resume", () => resumed);
  backend.answer("indwell/session", ({ before = null, limit = 20 }) => other.page(before, limit));
  await core.bridge.perform({ type: "openSession", session: "other" });
  assert.equal(core.state.session, "other");
  assert.deepEqual(marks(), []);
});

test("a background session's question is announced, survives another session's answer, and can be answered", async () => {
  const { core, backgroundQuestions, revealed } = await chatWithBackgroundTurn();
  const token = new Cancel();
  const asked = permission({ session: "other" });
  const answer = core.questions.permission(asked, token);
  assert.deepEqual(
    backgroundQuestions.map(([session]) => session),
    ["other"],
  );
  assert.equal(revealed(), 0);
  assert.deepEqual([ownQuestions(core.state).length, core.state.questions.length], [0, 1]);
  core.event({
    session: "third",
    seq: 1,
    event: {
      type: "permissionAnswered",
      turn: 1,
      id: "c",
      question: asked.id,
      answer: "once",
      hunks: [],
      agent: "",
    },
  });
  assert.equal(
    core.state.questions.length,
    1,
    "the same id in another session is another question",
  );
  const nonce = core.state.questions[0]?.nonce ?? "";
  await core.bridge.perform({ type: "answer", nonce, answer: "once", hunks: null });
  assert.deepEqual(await answer, { answer: "once" });
});

test("the turn of a prompt sent just before a new session does not replace the new session", async () => {
  const chat = makeChat();
  chat.backend.answerCommand("indwell.newSession", () => null);
  chat.backend.answer("indwell/prompt", () => new Promise(() => {}));
  await chat.core.started();
  const other = new RandomServer("other", random(9));
  const [first] = other.turn();
  if (first?.event.type !== "turnStarted") assert.fail("no turn has started");
  await chat.core.bridge.perform({ type: "send", text: first.event.words, how: "auto" });
  assert.equal(sending(chat.core.state).length, 1);
  await chat.core.bridge.perform({ type: "command", command: "new" });
  assert.deepEqual(sending(chat.core.state), []);
  chat.core.event(first);
  assert.equal(chat.core.state.session, null);
  assert.deepEqual(chat.core.state.outgoing, []);
});

test("a new session that is started while the server starts is not replaced by the last session", async () => {
  const first = makeChat();
  await first.core.started();
  for (const event of first.server.turn()) first.core.event(event);
  first.core.dispose();
  const second = makeChat(first.memory);
  second.backend.answerCommand("indwell.newSession", () => null);
  const started = second.core.started();
  await second.core.bridge.perform({ type: "command", command: "new" });
  await started;
  assert.deepEqual([second.core.state.session, second.core.state.turns.length], [null, 0]);
  assert.deepEqual(second.backend.calls("indwell.resume"), []);
});
