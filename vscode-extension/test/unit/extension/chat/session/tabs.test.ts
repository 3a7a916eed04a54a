/** Chats in editor tabs beside the panel: each keeps its session, its draft and its prompts to itself. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { Cancel } from "../../../../../src/extension/chat/backend.ts";
import { ChatCore } from "../../../../../src/extension/chat/chat-core.ts";
import type { Memory } from "../../../../../src/extension/chat/ports.ts";
import {
  keptTab,
  TabMemories,
  tabLook,
} from "../../../../../src/extension/chat/session/tab-state.ts";
import type { EventParams, StatusResult } from "../../../../../src/protocol.ts";
import { RandomServer, random } from "../../../shared/state/random-session.ts";
import { fakeRoom, settle } from "../fake-room.ts";

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

/** A window with the panel and any number of tabs, on one server with the session `s`. */
function house() {
  const room = fakeRoom();
  const { backend, clock, ports } = room;
  const server = new RandomServer("s", random(7));
  for (const _ of server.turn());
  backend.answer("indwell/status", ({ session }) => ({ ...STATUS, session: session ?? null }));
  backend.answer("indwell/queue", () => ({ seq: 0, held: "", waiting: [] }));
  const none = { changes: [], files: 0, added: 0, removed: 0, pending: 0, undo: "" };
  backend.answer("indwell/changes", () => none);
  backend.answer("indwell/session", ({ before = null, limit = 20 }) => server.page(before, limit));
  const resumed = { session: "s", turns: 1, model: "m", draft: "", notices: [] };
  backend.obey("indwell.resume", () => resumed);
  let nonce = 0;
  const opened: (string | null)[] = [];
  const cores: ChatCore[] = [];
  const make = (memory: Memory, panel?: ChatCore): ChatCore => {
    const core = new ChatCore({
      backend,
      clock,
      ports: { ...ports, memory },
      post: async () => true,
      nonce: () => {
        nonce += 1;
        return `nonce-${nonce}`;
      },
      log: () => {},
      reveal: () => {},
      askedBehind: () => {},
      firstRun: {
        firstRun: () => {},
        login: () => {},
        connect: async () => {},
        useEditorModels: async () => {},
        manageKeys: async () => {},
      },
      openTab: async (session) => void opened.push(session),
      hasTab: (session) => cores.slice(1).some((one) => one.session === session),
      tellOthers: (session, what) => {
        for (const one of cores) if (one !== core) void one.elsewhere(session, what);
      },
      ...(panel && { panel }),
    });
    cores.push(core);
    return core;
  };
  const memories = new TabMemories(new MapMemento());
  const panel = make(ports.memory);
  const tab = (session: string | null): ChatCore => {
    const memory = memories.of(`tab-${cores.length}`);
    if (session !== null) memory.set("session", session);
    return make(memory, panel);
  };
  /** Tabs first, as in a window. */
  const event = (params: EventParams): void => {
    for (const core of cores.toReversed()) core.event(params);
  };
  return { backend, clock, server, panel, tab, opened, event };
}

class MapMemento {
  readonly #values = new Map<string, unknown>();
  keys = () => [...this.#values.keys()];
  get = (key: string) => this.#values.get(key);
  update = async (key: string, value: unknown) => {
    if (value === undefined) this.#values.delete(key);
    else this.#values.set(key, JSON.parse(JSON.stringify(value)));
  };
}

function started(session: string, seq: number, words: string): EventParams {
  return {
    session,
    seq,
    event: {
      type: "turnStarted",
      turn: 1,
      title: words,
      words,
      model: "m",
      attached: [],
      mode: null,
      agent: "",
    },
  };
}

test("a tab shows its session, opens it beside the current one, and names it with each prompt", async () => {
  const { tab, backend, panel } = house();
  await panel.started();
  const own = tab("s");
  await own.started();
  assert.equal(own.state.session, "s");
  assert.equal(own.state.turns.length, 1);
  assert.equal(panel.state.session, null);
  const resumed = { session: "s", quiet: true, beside: true };
  assert.deepEqual(backend.calls("indwell.resume"), [resumed]);
  const sent: unknown[] = [];
  backend.answer("indwell/prompt", (params) => {
    sent.push(params);
    return new Promise(() => {});
  });
  await own.bridge.perform({ type: "send", text: "Go on.", how: "auto" });
  await settle();
  const prompt = { text: "Go on.", session: "s", mentions: [], attachments: [], beside: true };
  assert.deepEqual(sent, [prompt]);
});

test("a session that runs in panel and tab is live in both, and no other session comes into the tab", async () => {
  const { tab, panel, server, event } = house();
  await panel.started();
  const own = tab("s");
  const other = tab(null);
  await own.started();
  await other.started();
  await panel.bridge.perform({ type: "openSession", session: "s" });
  for (const one of server.turn()) event(one);
  await settle();
  assert.equal(own.state.turns.length, 2);
  assert.deepEqual(own.state.turns, panel.state.turns);
  assert.equal(other.state.session, null);
});

test("the first prompt of a new tab begins a session that the panel and other tabs do not take", async () => {
  const { tab, panel, backend, event } = house();
  await panel.started();
  const first = tab(null);
  const second = tab(null);
  await first.started();
  await second.started();
  backend.answer("indwell/prompt", () => new Promise(() => {}));
  await first.bridge.perform({ type: "send", text: "Same words.", how: "auto" });
  await second.bridge.perform({ type: "send", text: "Same words.", how: "auto" });
  await settle();
  event(started("one", 1, "Same words."));
  event(started("two", 1, "Same words."));
  assert.deepEqual([first.session, second.session].toSorted(), ["one", "two"]);
  assert.equal(panel.state.session, null);
});

test("what is typed in a tab stays in the tab, and a later window finds it there", async () => {
  const { tab, panel } = house();
  await panel.bridge.perform({ type: "typed", text: "in the panel", at: 1 });
  const memento = new MapMemento();
  const memory = new TabMemories(memento).of("a");
  memory.set("typed", "in the tab");
  assert.equal(new TabMemories(memento).of("a").get("typed"), "in the tab");
  assert.equal(new TabMemories(memento).of("b").get("typed"), undefined);
  const next = new TabMemories(memento);
  next.of("b");
  assert.equal(next.left(), "a", "a tab whose page kept nothing is found by what is left");
  new TabMemories(memento).forget("a");
  assert.equal(new TabMemories(memento).of("a").get("typed"), undefined);
  assert.equal(tab("s").state.isTab, true);
});

test("a rewind in one chat is shown in the other one", async () => {
  const { tab, panel, backend } = house();
  await panel.started();
  const own = tab("s");
  await own.started();
  await panel.bridge.perform({ type: "openSession", session: "s" });
  const back = { session: "s", turns: 0, model: "m", draft: "", notices: [] };
  backend.obey("indwell.rewind", () => back);
  const before = backend.calls("indwell/session").length;
  await own.bridge.perform({ type: "rewind", turn: 0, files: false });
  await settle();
  const wanted = { session: "s", turn: 0, files: false, wait: true, beside: true };
  assert.deepEqual(backend.calls("indwell.rewind"), [wanted]);
  assert.equal(backend.calls("indwell/session").length, before + 2, "both chats read the session");
});

test("another session, a fork and a new session open in tabs of their own", async () => {
  const { tab, backend, opened, panel } = house();
  await panel.started();
  const own = tab("s");
  await own.started();
  const forked = { session: "f", turns: 1, model: "m", draft: "", notices: [] };
  backend.obey("indwell.fork", () => forked);
  await own.bridge.perform({ type: "openSession", session: "other" });
  await own.bridge.perform({ type: "fork", turn: 1 });
  await own.bridge.perform({ type: "command", command: "new" });
  await panel.bridge.perform({ type: "openInEditor", session: "s" });
  assert.deepEqual(opened, ["other", "f", null, "s"]);
  assert.equal(own.state.session, "s");
});

test("a question is one question in every chat, and the answer of a tab counts", async () => {
  const { tab, panel } = house();
  await panel.started();
  const own = tab("s");
  await own.started();
  const asked = {
    id: "q",
    kind: "command" as const,
    title: "Run a command?",
    detail: "make",
    reason: "",
    rule: "make",
    cwd: "",
    session: "s",
    sandbox: "",
    more: "",
    why: "",
    wanted: false,
    risky: [],
    hunks: [],
  };
  const answer = panel.questions.permission(asked, new Cancel());
  const [question] = panel.state.questions;
  assert.ok(question);
  own.store.dispatch({ type: "question", question });
  assert.deepEqual(tabLook(own.state).icon, "asking");
  await own.bridge.perform({ type: "answer", nonce: question.nonce, answer: "once", hunks: null });
  assert.deepEqual(await answer, { answer: "once" });
  assert.deepEqual(panel.state.questions, []);
});

test("a tab that is closed, or whose chat ends, leaves the turn and the questions of the window", async () => {
  const { tab, panel, backend } = house();
  await panel.started();
  const own = tab("s");
  await own.started();
  own.dispose();
  assert.deepEqual(backend.calls("indwell.cancel"), []);
});

test("the page of a tab names the tab; anything else is no name", () => {
  const kept = { tab: { id: "a-1", session: "s" }, typed: null };
  assert.deepEqual(keptTab(kept), { id: "a-1", session: "s" });
  assert.deepEqual(keptTab({ tab: { id: "<x>", session: 1 } }), { id: null, session: null });
  assert.deepEqual(keptTab(undefined), { id: null, session: null });
});
