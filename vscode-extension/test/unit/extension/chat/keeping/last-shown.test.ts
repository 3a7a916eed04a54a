/** A reloaded window shows the last conversation from disk, until the server sends its own. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { LastShown } from "../../../../../src/extension/chat/keeping/last-shown.ts";
import type { Memory } from "../../../../../src/extension/chat/ports.ts";
import { Store } from "../../../../../src/extension/chat/room.ts";
import { outcomeWords } from "../../../../../src/shared/tool-words.ts";
import { RandomServer, random } from "../../../shared/state/random-session.ts";
import { FakeClock, fakePorts } from "../fake-room.ts";

function shown(memory: Memory = fakePorts().memory) {
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

const seen = ({ store }: ReturnType<typeof shown>) =>
  store.state.turns.map((turn) => [
    turn.number,
    turn.words,
    turn.ending,
    turn.parts.map((part) => ("text" in part ? part.text : part.kind)),
  ]);

test("the conversation comes back from disk, and the server's own replaces it without a rest", () => {
  const first = shown();
  first.store.dispatch({ type: "opened", session: "s" });
  first.watch();
  first.watch();
  const second = shown(first.memory);
  for (const action of second.last.restore("s")) second.store.dispatch(action);
  assert.deepEqual(seen(second), seen(first));
  assert.equal(second.store.state.isRemembered, true);
  const [turn] = first.server.turns;
  if (turn === undefined) assert.fail("a turn is in the log");
  const page = { ...first.server.page(null, 20), turns: [turn], title: "Fruit" };
  second.store.dispatch({ type: "page", page, where: "replace", seq: 0 });
  const { turns, isRemembered, title } = second.store.state;
  assert.deepEqual([turns.length, isRemembered, title], [1, false, "Fruit"]);
});

test("a turn that ran when the window went is shown as interrupted, not as running", () => {
  const first = shown();
  first.store.dispatch({ type: "opened", session: "s" });
  const [begin] = first.server.turn();
  if (begin === undefined) assert.fail("a turn begins");
  first.store.dispatch({ ...begin, type: "event", at: 0 });
  first.last.dispose();
  const second = shown(first.memory);
  for (const action of second.last.restore("s")) second.store.dispatch(action);
  assert.deepEqual(
    second.store.state.turns.map((turn) => turn.ending),
    ["interrupted"],
  );
});

test("nothing comes back of another session, of a new one, or of another shape", () => {
  const first = shown();
  first.store.dispatch({ type: "opened", session: "s" });
  first.watch();
  assert.equal(shown(first.memory).last.restore("s").length, 1);
  assert.deepEqual(shown(first.memory).last.restore("other"), []);
  assert.deepEqual(shown(first.memory).last.restore(null), []);
  first.memory.set("lastShown", { shape: 0, session: "s", turns: [{}] });
  assert.deepEqual(shown(first.memory).last.restore("s"), []);
});

test("a long conversation is stored in part, the newest turns whole", () => {
  const first = shown();
  first.store.dispatch({ type: "opened", session: "s" });
  for (let turn = 0; turn < 20; turn += 1) first.watch();
  const [action] = shown(first.memory).last.restore("s");
  if (action?.type !== "remembered") assert.fail("it is on disk");
  assert.equal(action.turns.at(-1)?.number, 20);
  assert.ok(action.turns.length <= 12 && action.hasOlder);
  assert.ok(JSON.stringify(first.memory.get("lastShown")).length < 160_000);
});

test("what is on disk stays until the server has answered", () => {
  const first = shown();
  first.store.dispatch({ type: "opened", session: "s" });
  first.watch();
  const second = shown(first.memory);
  for (const action of second.last.restore("s")) second.store.dispatch(action);
  second.last.dispose();
  assert.equal(shown(first.memory).last.restore("s").length, 1);
});

test("a call that was refused and one that was stopped say so after a reload, too", () => {
  const first = shown();
  first.store.dispatch({ type: "opened", session: "s" });
  first.watch();
  const [turn] = first.store.state.turns;
  if (turn === undefined) assert.fail("a turn is shown");
  const call = {
    kind: "tool",
    id: "a",
    name: "bash",
    target: "make",
    figure: "",
    seconds: 1,
    message: "",
    output: "",
    cut: 0,
    result: null,
    arguments: null,
    diffs: [],
    inner: [],
    tokens: 0,
  } as const;
  const parts = [
    { ...call, key: "a", state: "denied" },
    { ...call, key: "b", id: "b", state: "stopped" },
  ] as const;
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
  const second = shown(first.memory);
  for (const action of second.last.restore("s")) second.store.dispatch(action);
  assert.deepEqual(words(second.store), ["refused", "stopped"]);
});
