/** A reload of the window restores the typed text, the chips, the session and the history. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { Keeping } from "../../../../../src/extension/chat/keeping/keeping.ts";
import { Store } from "../../../../../src/extension/chat/room.ts";
import type { Action } from "../../../../../src/shared/state/action.ts";
import { FakeClock, fakePorts } from "../fake-room.ts";

function makeWindow(memory = fakePorts().memory) {
  const clock = new FakeClock();
  const store = new Store();
  const keeping = new Keeping(memory, clock);
  store.listen((action, state) => keeping.heard(action, state));
  for (const action of keeping.restore()) store.dispatch(action);
  const run = (...actions: readonly Action[]): void => actions.forEach(store.dispatch);
  return { memory, clock, store, keeping, run };
}

test("a reload restores the typed text, the session, the user's chips and the history", () => {
  const first = makeWindow();
  first.run({ type: "opened", session: "s" });
  first.run({
    type: "attach",
    attachment: { kind: "mention", id: "m", label: "a.py", path: "a.py" },
  });
  first.run({ type: "attach", attachment: { kind: "context", id: "c", label: "x", tokens: 1 } });
  first.run({ type: "history", prompts: ["earlier"] });
  first.keeping.setTyped("half a sen");
  first.keeping.dispose();
  const second = makeWindow(first.memory);
  assert.equal(second.keeping.typed, "half a sen");
  assert.equal(second.keeping.session, "s");
  assert.deepEqual(
    second.store.state.attachments.map((one) => one.id),
    ["m"],
  );
  assert.deepEqual(second.store.state.history, ["earlier"]);
});

test("typing, sending and a returned draft are stored at once, and each raises the counter", () => {
  const window = makeWindow();
  window.keeping.setTyped("half a sen", 5);
  assert.equal(makeWindow(window.memory).keeping.typed, "half a sen");
  window.keeping.setTyped("");
  assert.equal(makeWindow(window.memory).keeping.typed, "");
  window.run({ type: "draft", text: "came back", mode: "replace" });
  const again = makeWindow(window.memory).keeping;
  assert.equal(again.typed, "came back");
  assert.equal(again.typedAt, 7);
});

test("no second write begins during a write, and the newest text is written afterwards", async () => {
  const { memory } = fakePorts();
  const ends: (() => void)[] = [];
  const written: unknown[] = [];
  const slow = {
    get: memory.get,
    set: (key: string, value: unknown) => {
      if (key === "typed") written.push(value);
      return new Promise<void>((end) => ends.push(end));
    },
  };
  const { keeping } = makeWindow(slow);
  keeping.setTyped("a");
  keeping.setTyped("ab");
  keeping.setTyped("abc");
  assert.deepEqual(written, ["a"]);
  for (const end of ends) end();
  await new Promise((next) => setImmediate(next));
  assert.deepEqual(written, ["a", "abc"]);
});

test("a returned draft is stored before newer typed text", () => {
  const window = makeWindow();
  window.keeping.setTyped("typed since");
  window.run({ type: "draft", text: "came back", mode: "replace" });
  assert.equal(window.keeping.typed, "came back\n\ntyped since");
});

test("a reload after starting a new session resumes no session", () => {
  const window = makeWindow();
  window.run({ type: "opened", session: "s" }, { type: "opened", session: null });
  assert.equal(makeWindow(window.memory).keeping.session, null);
});

test("stored values of an unknown shape are ignored", () => {
  const { memory } = fakePorts();
  memory.set("typed", { not: "text" });
  memory.set("attachments", [{ kind: "context", id: "c" }]);
  memory.set("history", "x");
  const window = makeWindow(memory);
  assert.equal(window.keeping.typed, "");
  assert.deepEqual(window.store.state.attachments, []);
  assert.deepEqual(window.store.state.history, []);
});

test("pictures beyond the storage limit are left out with a message, and the text is kept", () => {
  const window = makeWindow();
  const picture = (id: string): Action => ({
    type: "attach",
    attachment: { kind: "image", id, label: id, mime: "image/png", data: "A".repeat(5_000_000) },
  });
  window.run(picture("a"), picture("b"));
  window.keeping.setTyped("words");
  window.clock.advance(1000);
  const again = makeWindow(window.memory);
  assert.equal(again.keeping.typed, "words");
  assert.equal(again.store.state.attachments.length, 1);
  assert.match(again.store.state.banner?.text ?? "", /attach them again/);
});

test("a sent prompt that never began returns once with its chips, unless it is in the server's queue", () => {
  const first = makeWindow();
  const mention = { kind: "mention", id: "m", label: "a.py", path: "a.py" } as const;
  const send = (id: number, words: string): void => {
    first.keeping.went(id, words, [mention]);
    first.run({ type: "sent", id, words, images: [], taken: ["m"] });
  };
  send(1, "one");
  send(2, "two");
  send(3, "queued");
  first.run({ type: "answered", id: 1, attachments: [] });
  const second = makeWindow(first.memory);
  assert.deepEqual(second.keeping.unsent(["queued"]), [
    { type: "attach", attachment: mention },
    { type: "draft", text: "two", mode: "replace" },
  ]);
  assert.deepEqual(second.keeping.unsent([]), []);
  assert.deepEqual(makeWindow(first.memory).keeping.unsent([]), []);
});
