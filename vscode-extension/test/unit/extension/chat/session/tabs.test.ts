/** A chat in an editor tab has its own session, draft and prompts. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { Cancel, type Token } from "../../../../../src/extension/chat/backend.ts";
import { ChatCore } from "../../../../../src/extension/chat/chat-core.ts";
import type { Memory } from "../../../../../src/extension/chat/ports.ts";
import {
  keptTab,
  TabMemories,
  tabLook,
} from "../../../../../src/extension/chat/session/tab-state.ts";
import type { EventParams } from "../../../../../src/protocol.ts";
import { permission, statusResult } from "../../../fixtures.ts";
import { chatParts, serveSession } from "../fake-chat.ts";
import { fakeRoom, settle } from "../fake-room.ts";

/** A window with the panel and any number of tabs, whose server has the session `s`. */
function makeTabs() {
  const room = fakeRoom();
  const { backend, clock, ports } = room;
  const server = serveSession(room);
  backend.answer("indwell/status", ({ session = null }) => statusResult({ session }));
  const opened: (string | null)[] = [];
  const cores: ChatCore[] = [];
  const make = (memory: Memory, panel?: ChatCore): ChatCore => {
    const core = new ChatCore({
      ...chatParts(room, memory),
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
  /** Sends an event to the tabs first, as a window does. */
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

test("a tab resumes its session beside the panel's session and names it in each prompt", async () => {
  const { tab, backend, panel } = makeTabs();
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

test("a session that is open in the panel and in a tab is live in both, and not in another tab", async () => {
  const { tab, panel, server, event } = makeTabs();
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

test("the session that a new tab's first prompt starts belongs to this tab only", async () => {
  const { tab, panel, backend, event } = makeTabs();
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

test("a tab's typed text is stored for this tab only and restored in a later window", async () => {
  const { tab, panel } = makeTabs();
  await panel.bridge.perform({ type: "typed", text: "in the panel", at: 1 });
  const memento = new MapMemento();
  const memory = new TabMemories(memento).of("a");
  memory.set("typed", "in the tab");
  assert.equal(new TabMemories(memento).of("a").get("typed"), "in the tab");
  assert.equal(new TabMemories(memento).of("b").get("typed"), undefined);
  const next = new TabMemories(memento);
  next.of("b");
  assert.equal(next.left(), "a", "a tab whose page stored nothing gets the remaining stored tab");
  new TabMemories(memento).forget("a");
  assert.equal(new TabMemories(memento).of("a").get("typed"), undefined);
  assert.equal(tab("s").state.isTab, true);
});

test("after a rewind in a tab, the tab and the panel read the session again", async () => {
  const { tab, panel, backend } = makeTabs();
  await panel.started();
  const own = tab("s");
  await own.started();
  await panel.bridge.perform({ type: "openSession", session: "s" });
  const back = { session: "s", turns: 0, model: "m", draft: "", notices: [] };
  backend.answerCommand("indwell.rewind", () => back);
  const before = backend.calls("indwell/session").length;
  await own.bridge.perform({ type: "rewind", turn: 0, files: false });
  await settle();
  const wanted = { session: "s", turn: 0, files: false, wait: true, beside: true };
  assert.deepEqual(backend.calls("indwell.rewind"), [wanted]);
  assert.equal(backend.calls("indwell/session").length, before + 2, "both chats read the session");
});

test("a tab opens another session, a fork and a new session in tabs of their own", async () => {
  const { tab, backend, opened, panel } = makeTabs();
  await panel.started();
  const own = tab("s");
  await own.started();
  const forked = { session: "f", turns: 1, model: "m", draft: "", notices: [] };
  backend.answerCommand("indwell.fork", () => forked);
  await own.bridge.perform({ type: "openSession", session: "other" });
  await own.bridge.perform({ type: "fork", turn: 1 });
  await own.bridge.perform({ type: "command", command: "new" });
  await panel.bridge.perform({ type: "openInEditor", session: "s" });
  assert.deepEqual(opened, ["other", "f", null, "s"]);
  assert.equal(own.state.session, "s");
});

test("a question of the panel can be answered in a tab", async () => {
  const { tab, panel } = makeTabs();
  await panel.started();
  const own = tab("s");
  await own.started();
  const asked = permission({ session: "s" });
  const answer = panel.questions.permission(asked, new Cancel());
  const [question] = panel.state.questions;
  assert.ok(question);
  own.store.dispatch({ type: "question", question });
  assert.deepEqual(tabLook(own.state).icon, "asking");
  await own.bridge.perform({ type: "answer", nonce: question.nonce, answer: "once", hunks: null });
  assert.deepEqual(await answer, { answer: "once" });
  assert.deepEqual(panel.state.questions, []);
});

test("closing a tab stops neither its running turn nor an open question of the window", async () => {
  const { tab, panel, backend, server, event } = makeTabs();
  await panel.started();
  const own = tab("s");
  await own.started();
  await panel.bridge.perform({ type: "openSession", session: "s" });
  const tokens: (Token | undefined)[] = [];
  backend.answer("indwell/prompt", (_, token) => {
    tokens.push(token);
    return new Promise(() => {});
  });
  await own.bridge.perform({ type: "send", text: "prompt 2", how: "auto" });
  await settle();
  const [begin, ...rest] = server.turn();
  if (begin === undefined) assert.fail("no turn has started");
  event(begin);
  let answered = false;
  const answer = panel.questions.permission(permission({ session: "s" }), new Cancel());
  void answer.then(() => {
    answered = true;
  });
  const before = backend.requests.length;
  own.dispose();
  await settle();
  assert.equal(backend.requests.length, before, "closing a tab sends nothing");
  assert.deepEqual(
    tokens.map((token) => token?.isCancellationRequested === true),
    [false],
  );
  assert.equal(answered, false);
  assert.equal(panel.state.turns.at(-1)?.ending, "running");
  const [question] = panel.state.questions;
  assert.ok(question);
  const { nonce } = question;
  await panel.bridge.perform({ type: "answer", nonce, answer: "once", hunks: null });
  assert.deepEqual(await answer, { answer: "once" });
  for (const one of rest) panel.event(one);
  assert.equal(panel.state.turns.at(-1)?.ending, "done");
});

test("a tab's id and session are read from the state of its page, and invalid values are ignored", () => {
  const kept = { tab: { id: "a-1", session: "s" }, typed: null };
  assert.deepEqual(keptTab(kept), { id: "a-1", session: "s" });
  assert.deepEqual(keptTab({ tab: { id: "<x>", session: 1 } }), { id: null, session: null });
  assert.deepEqual(keptTab(undefined), { id: null, session: null });
});
