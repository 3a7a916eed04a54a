/** A reloaded window shows the stored conversation until the server sends the session. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { LastShown } from "../../../../../src/extension/chat/keeping/last-shown.ts";
import type { Memory } from "../../../../../src/extension/chat/ports.ts";
import { Store } from "../../../../../src/extension/chat/room.ts";
import type { Part, Turn } from "../../../../../src/shared/state/state.ts";
import { outcomeWords } from "../../../../../src/shared/tool-words.ts";
import { toolPart } from "../../../fixtures.ts";
import { RandomServer, random } from "../../../shared/state/random-session.ts";
import { FakeClock, fakePorts } from "../fake-room.ts";

function makeWindow(memory: Memory = fakePorts().memory) {
  const clock = new FakeClock();
  const store = new Store();
  const last = new LastShown(memory, clock);
  store.listen((action, state) => last.heard(action, state));
  const server = new RandomServer("s", random(4));
  const watch = (): void => {
    for (const { session, seq, event } of server.turn())
      store.dispatch({ type: "event", session, seq, event, at: 0 });
    clock.advance(1_000);
  };
  return { memory, store, last, server, watch };
}

const turnsOf = ({ store }: ReturnType<typeof makeWindow>) =>
  store.state.turns.map((turn) => [
    turn.number,
    turn.words,
    turn.ending,
    turn.parts.map((part) => ("text" in part ? part.text : part.kind)),
  ]);

test("the stored conversation is shown after a reload, and the server's page replaces all of it", () => {
  const first = makeWindow();
  first.store.dispatch({ type: "opened", session: "s" });
  first.watch();
  first.watch();
  const second = makeWindow(first.memory);
  for (const action of second.last.restore("s")) second.store.dispatch(action);
  assert.deepEqual(turnsOf(second), turnsOf(first));
  assert.equal(second.store.state.isRemembered, true);
  const [turn] = first.server.turns;
  if (turn === undefined) assert.fail("the log has no turn");
  const page = { ...first.server.page(null, 20), turns: [turn], title: "Fruit" };
  second.store.dispatch({ type: "page", page, where: "replace", seq: 0 });
  const { turns, isRemembered, title } = second.store.state;
  assert.deepEqual([turns.length, isRemembered, title], [1, false, "Fruit"]);
});

test("a turn that was running when the window closed is shown as interrupted", () => {
  const first = makeWindow();
  first.store.dispatch({ type: "opened", session: "s" });
  const [begin] = first.server.turn();
  if (begin === undefined) assert.fail("no turn has started");
  first.store.dispatch({ ...begin, type: "event", at: 0 });
  first.last.dispose();
  const second = makeWindow(first.memory);
  for (const action of second.last.restore("s")) second.store.dispatch(action);
  assert.deepEqual(
    second.store.state.turns.map((turn) => turn.ending),
    ["interrupted"],
  );
});

test("nothing is restored for another session, for a new session or from a value of another shape", () => {
  const first = makeWindow();
  first.store.dispatch({ type: "opened", session: "s" });
  first.watch();
  assert.equal(makeWindow(first.memory).last.restore("s").length, 1);
  assert.deepEqual(makeWindow(first.memory).last.restore("other"), []);
  assert.deepEqual(makeWindow(first.memory).last.restore(null), []);
  first.memory.set("lastShown", { shape: 0, session: "s", turns: [{}] });
  assert.deepEqual(makeWindow(first.memory).last.restore("s"), []);
});

test("at most the 12 newest turns of a long conversation are stored", () => {
  const first = makeWindow();
  first.store.dispatch({ type: "opened", session: "s" });
  for (let turn = 0; turn < 20; turn += 1) first.watch();
  const [action] = makeWindow(first.memory).last.restore("s");
  if (action?.type !== "remembered") assert.fail("nothing is stored");
  assert.equal(action.turns.at(-1)?.number, 20);
  assert.ok(action.turns.length <= 12 && action.hasOlder);
  assert.ok(JSON.stringify(first.memory.get("lastShown")).length < 160_000);
});

test("as many of the newest turns are stored as fit, each with all of its text", () => {
  const first = makeWindow();
  first.store.dispatch({ type: "opened", session: "s" });
  for (let turn = 0; turn < 8; turn += 1) first.watch();
  const long = (part: Part): Part =>
    part.kind === "text" ? { ...part, text: part.text.padEnd(20_000, ".") } : part;
  const turns = first.store.state.turns.map((turn) => {
    const text: Part = { kind: "text", key: "k", text: "", final: true, ms: null, since: null };
    return {
      ...turn,
      parts: [...turn.parts.filter((part) => part.kind !== "text"), text].map(long),
    };
  });
  first.last.heard({ type: "opened", session: "s" }, { ...first.store.state, turns });
  first.last.dispose();
  const [action] = makeWindow(first.memory).last.restore("s");
  if (action?.type !== "remembered") assert.fail("nothing is stored");
  const stored = action.turns;
  assert.deepEqual(
    stored.map((turn) => turn.number),
    [2, 3, 4, 5, 6, 7, 8],
  );
  const shown = (turn: Turn) =>
    turn.parts.map((part) => ("text" in part ? part.text : [part.kind, part.key]));
  assert.deepEqual(stored.map(shown), turns.slice(1).map(shown));
  assert.equal(action.hasOlder, true);
});

test("the end of a turn that is too long by itself is stored, with a line that says so", () => {
  const first = makeWindow();
  first.store.dispatch({ type: "opened", session: "s" });
  first.watch();
  first.watch();
  const part = (key: string, text: string): Part => {
    return { kind: "text", key, text, final: true, ms: null, since: null };
  };
  const long = Array.from({ length: 20_000 }, (_, number) => `"line" ${number}`).join("\n");
  const turns = first.store.state.turns.map((turn) => ({
    ...turn,
    words: "Explain".padEnd(400_000),
    parts: [part("a", "early"), part("b", long), part("c", "the last words")],
  }));
  first.last.heard({ type: "opened", session: "s" }, { ...first.store.state, turns });
  first.last.dispose();
  assert.ok(JSON.stringify(first.memory.get("lastShown")).length < 151_000);
  const [action] = makeWindow(first.memory).last.restore("s");
  if (action?.type !== "remembered") assert.fail("nothing is stored");
  const [turn, ...others] = action.turns;
  assert.deepEqual([turn?.number, others, action.hasOlder], [2, [], true]);
  const texts = (turn?.parts ?? []).map((one) => ("text" in one ? one.text : ""));
  const [line = "", middle = "", last = ""] = texts;
  assert.match(line, /^The beginning of this long turn/);
  assert.ok(long.endsWith(`\n${middle}`) && middle.length > 50_000, middle.slice(0, 80));
  assert.deepEqual([texts.length, last], [3, "the last words"]);
  assert.match(turn?.words ?? "", /^Explain/);
});

test("the stored conversation is kept until the server has answered", () => {
  const first = makeWindow();
  first.store.dispatch({ type: "opened", session: "s" });
  first.watch();
  const second = makeWindow(first.memory);
  for (const action of second.last.restore("s")) second.store.dispatch(action);
  second.last.dispose();
  assert.equal(makeWindow(first.memory).last.restore("s").length, 1);
});

test("refused and stopped calls keep their outcome after a reload", () => {
  const first = makeWindow();
  first.store.dispatch({ type: "opened", session: "s" });
  first.watch();
  const [turn] = first.store.state.turns;
  if (turn === undefined) assert.fail("no turn is shown");
  const parts = [
    toolPart({ key: "a", id: "a", state: "denied", seconds: 1 }),
    toolPart({ key: "b", id: "b", state: "stopped", seconds: 1 }),
  ];
  const turns = [{ ...turn, parts }];
  first.store.dispatch({ type: "remembered", session: "s", title: "", turns, hasOlder: false });
  const words = (store: Store): readonly string[] =>
    (store.state.turns[0]?.parts ?? []).flatMap((part) =>
      part.kind === "tool" ? [outcomeWords(part)] : [],
    );
  assert.deepEqual(words(first.store), ["refused", "stopped"]);
  const live = { ...first.store.state, isRemembered: false };
  first.last.heard({ type: "opened", session: "s" }, live);
  first.last.dispose();
  const second = makeWindow(first.memory);
  for (const action of second.last.restore("s")) second.store.dispatch(action);
  assert.deepEqual(words(second.store), ["refused", "stopped"]);
});
