/** The whole chat without the editor: a server comes, is talked to, goes, and comes again. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { Cancel } from "../../../../src/extension/chat/backend.ts";
import { ChatCore } from "../../../../src/extension/chat/chat-core.ts";
import type { StatusResult } from "../../../../src/protocol.ts";
import { ownQuestions, sending, sessionOf } from "../../../../src/shared/state/selectors.ts";
import type { PanelState } from "../../../../src/shared/state/state.ts";
import { RandomServer, random } from "../../shared/state/random-session.ts";
import { fakeRoom, settle } from "./fake-room.ts";

const STATUS: StatusResult = {
  session: null,
  title: "",
  mode: "review",
  modes: ["ask", "review"],
  model: "m",
  lacking: "",
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

const PERMISSION = {
  id: "q",
  kind: "command" as const,
  title: "Run a command?",
  detail: "make",
  reason: "",
  rule: "make",
  cwd: "",
  session: "",
  sandbox: "",
  more: "",
  why: "",
  wanted: false,
  risky: [],
  hunks: [],
};

/** As the server says that another process has the session open. */
function heldElsewhere(): Error {
  const words = "session 's' is open in another editor; close it there";
  return Object.assign(new Error(words), { code: -32803, data: { reason: "openElsewhere" } });
}

function house(memory = fakeRoom().ports.memory, status: Partial<StatusResult> = {}) {
  const room = fakeRoom();
  const logged: string[] = [];
  const server = new RandomServer("s", random(7));
  for (const _ of server.turn());
  const { backend, clock } = room;
  backend.answer("indwell/status", () => ({ ...STATUS, ...status }));
  backend.answer("indwell/queue", () => ({ seq: 0, held: "", waiting: [] }));
  const none = { changes: [], files: 0, added: 0, removed: 0, pending: 0, undo: "" };
  backend.answer("indwell/changes", () => none);
  backend.answer("indwell/session", ({ before = null, limit = 20 }) => server.page(before, limit));
  const resumed = { session: "s", turns: 1, model: "m", draft: "", notices: [] };
  backend.obey("indwell.resume", () => resumed);
  let nonce = 0;
  let revealed = 0;
  const behind: (readonly [string, string])[] = [];
  const core = new ChatCore({
    backend,
    clock,
    ports: { ...room.ports, memory },
    post: async () => true,
    nonce: () => {
      nonce += 1;
      return `nonce-${nonce}`;
    },
    log: (words) => void logged.push(words),
    reveal: () => {
      revealed += 1;
    },
    askedBehind: (question, title) => void behind.push([sessionOf(question), title]),
    firstRun: {
      firstRun: () => {},
      login: () => {},
      connect: async () => {},
      useEditorModels: async () => {},
      manageKeys: async () => {},
    },
  });
  const { did } = room.ports;
  return { core, backend, clock, server, memory, logged, did, behind, revealed: () => revealed };
}

test("the session of before a reload is taken up, with its turns", async () => {
  const first = house();
  await first.core.started();
  for (const event of first.server.turn()) first.core.event(event);
  assert.equal(first.core.state.session, "s");
  first.core.dispose();
  const second = house(first.memory);
  await second.core.started();
  assert.equal(second.core.state.turns.length, 1);
  assert.deepEqual(second.backend.calls("indwell.resume"), [{ session: "s", quiet: true }]);
});

test("without a model the old session is shown, and not taken up", async () => {
  const { memory } = house();
  memory.set("session", "s");
  const one = house(memory, { lacking: "no key" });
  await one.core.started();
  assert.equal(one.core.state.turns.length, 1);
  assert.deepEqual(one.backend.calls("indwell.resume"), []);
});

test("while the window of before still holds the session, a prompt waits instead of failing", async () => {
  const { memory } = house();
  memory.set("session", "s");
  const one = house(memory);
  let tries = 0;
  one.backend.obey("indwell.resume", () => {
    tries += 1;
    if (tries < 4) throw heldElsewhere();
    return { session: "s", turns: 1, model: "m", draft: "", notices: [] };
  });
  one.backend.answer("indwell/prompt", () => new Promise(() => {}));
  const started = one.core.started();
  await settle();
  await one.core.bridge.take({ type: "send", text: "go on", how: "auto" });
  await settle();
  assert.equal(one.core.state.outgoing.length, 1);
  assert.deepEqual(one.backend.calls("indwell/prompt"), []);
  const { connection } = one.core.state;
  assert.match(
    (connection.kind === "ready" && connection.waiting) || "",
    /^Waiting for the earlier window/,
  );
  for (let second = 0; second < 4; second += 1) {
    one.clock.advance(1000);
    await settle();
  }
  await started;
  await settle();
  assert.equal(tries, 4);
  assert.equal(one.backend.calls("indwell/prompt").length, 1);
  assert.equal(one.core.state.banner, null);
  assert.deepEqual(one.core.state.connection, { kind: "ready" });
});

test("a server that goes while a session is waited for ends the waiting, and is not started by it", async () => {
  const { memory } = house();
  memory.set("session", "s");
  const one = house(memory);
  one.backend.obey("indwell.resume", () => {
    throw heldElsewhere();
  });
  const started = one.core.started();
  await settle();
  one.core.gone({ kind: "stopped", reason: "The server was stopped." });
  one.clock.advance(1000);
  await started;
  one.clock.advance(600_000);
  await settle();
  assert.equal(one.backend.calls("indwell.resume").length, 1);
  assert.deepEqual([one.core.state.connection.kind, one.core.state.banner], ["stopped", null]);
});

test("a session that is held for minutes is said to be open elsewhere, and the words come back", async () => {
  const { memory } = house();
  memory.set("session", "s");
  const one = house(memory);
  one.backend.obey("indwell.resume", () => {
    throw heldElsewhere();
  });
  one.backend.answer("indwell/prompt", () => {
    throw heldElsewhere();
  });
  const started = one.core.started();
  await settle();
  await one.core.bridge.take({ type: "send", text: "go on", how: "auto" });
  for (let second = 0; second < 400; second += 1) {
    one.clock.advance(1000);
    await settle();
  }
  await started;
  await settle();
  assert.equal(one.core.state.banner?.level, "warning");
  assert.match(one.core.state.banner?.text ?? "", /^This session is open in another window/);
  assert.deepEqual([one.core.state.draft.text, one.core.state.outgoing], ["go on", []]);
});

test("a new session that is begun meanwhile takes what was sent", async () => {
  const { memory } = house();
  memory.set("session", "s");
  const one = house(memory);
  one.backend.obey("indwell.resume", () => {
    throw heldElsewhere();
  });
  one.backend.obey("indwell.newSession", () => null);
  one.backend.answer("indwell/prompt", () => new Promise(() => {}));
  const started = one.core.started();
  await settle();
  await one.core.bridge.take({ type: "send", text: "go on", how: "auto" });
  await one.core.bridge.take({ type: "command", command: "new" });
  one.clock.advance(1000);
  await started;
  await settle();
  const [sent] = one.backend.calls("indwell/prompt");
  assert.deepEqual(sent, { text: "go on", session: "new", mentions: [], attachments: [] });
  assert.deepEqual(one.core.state.connection, { kind: "ready" });
});

test("an old session that is gone leaves an empty panel, and says nothing", async () => {
  const { memory } = house();
  memory.set("session", "gone");
  const one = house(memory);
  one.backend.answer("indwell/session", () => {
    throw new Error("there is no session gone");
  });
  await one.core.started();
  assert.deepEqual([one.core.state.session, one.core.state.banner], [null, null]);
});

test("a session that the server has already is shown instead of the kept one", async () => {
  const { memory } = house();
  memory.set("session", "older");
  const one = house(memory, { session: "s" });
  await one.core.started();
  assert.equal(one.core.state.session, "s");
  assert.deepEqual(one.backend.calls("indwell.resume"), []);
});

test("a question reveals the panel, is answered through the bridge, and goes with the server", async () => {
  const one = house();
  await one.core.started();
  const asked = PERMISSION;
  const first = one.core.questions.permission(asked, new Cancel());
  assert.equal(one.revealed(), 1);
  await one.core.bridge.take({ type: "answer", nonce: "guessed", answer: "always", hunks: null });
  assert.equal(one.core.state.questions.length, 1);
  await one.core.bridge.take({ type: "answer", nonce: "nonce-1", answer: "once", hunks: null });
  assert.deepEqual(await first, { answer: "once" });
  const second = one.core.questions.permission(asked, new Cancel());
  one.core.gone({ kind: "restarting", reason: "The server ended." });
  assert.deepEqual(await second, { answer: "no" });
  assert.deepEqual(one.core.state.questions, []);
  assert.deepEqual(one.logged, ["An answer arrived without a question"]);
});

test("what changed in files is asked for again, once for many events", async () => {
  const one = house();
  await one.core.started();
  await settle();
  const before = one.backend.calls("indwell/changes").length;
  const event = { type: "hunksChanged", turn: 1, pending: 2, files: ["a"], agent: "" } as const;
  for (let seq = 1; seq <= 50; seq += 1) one.core.event({ session: "other", seq, event });
  one.clock.advance(1000);
  await settle();
  assert.equal(one.backend.calls("indwell/changes").length, before + 1);
});

test("the models are asked for once a model can be called", async () => {
  const one = house(undefined, { lacking: "no model is set" });
  one.backend.answer("indwell/models", () => ({ models: [] }));
  await one.core.started();
  one.clock.advance(1_000);
  await settle();
  assert.equal(one.backend.calls("indwell/models").length, 0);
  one.backend.answer("indwell/status", () => STATUS);
  // The answer comes late: the list was to be asked for in the meantime.
  one.core.refresh.soon("status");
  one.clock.advance(50);
  await settle();
  one.clock.advance(300);
  await settle();
  assert.equal(one.backend.calls("indwell/models").length, 1);
});

test("a server that starts anew gets the mode and the model that were chosen, before anything is sent", async () => {
  const says = { mode: "review" as StatusResult["mode"], model: "m" };
  const one = house(undefined, {});
  const follow = (room: ReturnType<typeof house>) => {
    const modes: StatusResult["modes"] = ["plan", "ask", "review", "auto"];
    room.backend.answer("indwell/status", () => ({ ...STATUS, ...says, modes }));
    room.backend.answer("indwell/models", () => ({ models: [] }));
    room.backend.obey("indwell.mode", (argument) => {
      says.mode = argument?.mode ?? says.mode;
      return null as never;
    });
    room.backend.answer("indwell/setModel", ({ model }) => {
      says.model = model;
      return { model };
    });
  };
  const choose = async (mode: string) => {
    await one.core.bridge.take({ type: "mode", mode });
    await settle();
  };
  const restart = async (mode: StatusResult["mode"] = "review") => {
    one.core.gone({ kind: "starting", reason: "" });
    Object.assign(says, { mode, model: "m" });
    await one.core.started();
  };
  follow(one);
  await one.core.started();
  await choose("plan");
  await one.core.bridge.take({ type: "model", model: "other" });
  await settle();
  await restart();
  assert.deepEqual(says, { mode: "plan", model: "other" });
  await choose("auto");
  await restart();
  assert.deepEqual(says, { mode: "auto", model: "other" });
  // A looser one does not outlive a window, nor settings that became tighter.
  const two = house(one.memory);
  follow(two);
  Object.assign(says, { mode: "review", model: "m" });
  await two.core.started();
  assert.deepEqual(says, { mode: "review", model: "other" });
  await restart("plan");
  assert.deepEqual(says, { mode: "plan", model: "other" });
});

test("trust goes by way of the command, which knows whether the editor's own is missing", async () => {
  const { core, did, backend } = house();
  await core.bridge.take({ type: "command", command: "trust" });
  assert.deepEqual(did, ["run indwell.trust"]);
  assert.deepEqual(backend.calls("indwell.trust"), []);
});

test("a question goes with the turn that asked it, whatever ended that", async () => {
  const one = house();
  await one.core.started();
  const events = [...one.server.turn()];
  const last = events.pop();
  for (const event of events) one.core.event(event);
  if (last === undefined) assert.fail("a turn ends");
  const { session, seq, event } = last;
  const asks = {
    type: "permissionAsked",
    turn: event.turn,
    id: "c",
    question: "q",
    agent: "",
  } as const;
  const asked = { title: "Run a command?", detail: "make", reason: "" };
  one.core.event({ session, seq, event: { ...asks, ...asked } });
  const more = { rule: "", cwd: "", session: "", sandbox: "", more: "", why: "", wanted: false };
  const params = { id: "q", kind: "command", ...asked, ...more, risky: [], hunks: [] } as const;
  const answer = one.core.questions.permission(params, new Cancel());
  assert.equal(one.core.state.questions.length, 1);
  one.core.event({ session, seq: seq + 1, event });
  assert.deepEqual(await answer, { answer: "no" });
  assert.deepEqual(one.core.state.questions, []);
});

/** A session `other` whose turn runs while the panel shows a new one. */
async function leftBehind() {
  const one = house();
  one.backend.obey("indwell.newSession", () => null);
  await one.core.started();
  const other = new RandomServer("other", random(9));
  const events = [...other.turn()];
  const [first] = events;
  if (first?.event.type !== "turnStarted") assert.fail("a turn begins");
  one.core.event(first);
  assert.equal(one.core.state.session, "other");
  await one.core.bridge.perform({ type: "command", command: "new" });
  return { ...one, other, events, words: first.event.words };
}

test("a turn runs on behind a new session, is marked, and is shown whole when it is opened again", async () => {
  const one = await leftBehind();
  const { core, backend, events } = one;
  assert.deepEqual(backend.calls("indwell.newSession"), [{ keep: true }]);
  assert.deepEqual([core.state.session, core.state.turns.length], [null, 0]);
  const works = () => core.state.marks.map((mark) => [mark.session, mark.work]);
  assert.deepEqual(works(), [["other", "running"]]);
  const half = Math.floor(events.length / 2);
  for (const event of events.slice(1, half)) core.event(event);
  assert.equal(core.state.session, null);
  backend.obey("indwell.resume", () => ({
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
    one.other.page(before, limit),
  );
  await core.bridge.perform({ type: "openSession", session: "other" });
  for (const event of events.slice(half)) core.event(event);
  one.clock.advance(1000);
  const watched = house();
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
  assert.deepEqual(core.state.marks, [], "an end that the user sees is not marked");
});

test("an end behind the shown session stays marked until the session is opened", async () => {
  const { core, events } = await leftBehind();
  for (const event of events.slice(1)) core.event(event);
  const [mark] = core.state.marks;
  assert.equal(mark?.session, "other");
  assert.notEqual(mark?.work, "running");
});

test("a question of a session behind is noticed, never withdrawn by another session, and answered there", async () => {
  const { core, behind, revealed } = await leftBehind();
  const token = new Cancel();
  const asked = { ...PERMISSION, session: "other" };
  const answer = core.questions.permission(asked, token);
  assert.deepEqual(
    behind.map(([session]) => session),
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

test("a prompt that is still on its way when the user begins a new session is not followed", async () => {
  const one = house();
  one.backend.obey("indwell.newSession", () => null);
  one.backend.answer("indwell/prompt", () => new Promise(() => {}));
  await one.core.started();
  const other = new RandomServer("other", random(9));
  const [first] = other.turn();
  if (first?.event.type !== "turnStarted") assert.fail("a turn begins");
  await one.core.bridge.perform({ type: "send", text: first.event.words, how: "auto" });
  assert.equal(sending(one.core.state).length, 1);
  await one.core.bridge.perform({ type: "command", command: "new" });
  assert.deepEqual(sending(one.core.state), []);
  one.core.event(first);
  assert.equal(one.core.state.session, null);
  assert.deepEqual(one.core.state.outgoing, []);
});

test("a new session that is begun while the server starts is not replaced by the earlier one", async () => {
  const first = house();
  await first.core.started();
  for (const event of first.server.turn()) first.core.event(event);
  first.core.dispose();
  const second = house(first.memory);
  second.backend.obey("indwell.newSession", () => null);
  const started = second.core.started();
  await second.core.bridge.perform({ type: "command", command: "new" });
  await started;
  assert.deepEqual([second.core.state.session, second.core.state.turns.length], [null, 0]);
  assert.deepEqual(second.backend.calls("indwell.resume"), []);
});
