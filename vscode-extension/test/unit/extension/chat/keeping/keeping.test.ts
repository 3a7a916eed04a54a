/** A reload of the window finds typed words, chips, session and history again. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { Keeping } from "../../../../../src/extension/chat/keeping/keeping.ts";
import { Store } from "../../../../../src/extension/chat/room.ts";
import type { Action } from "../../../../../src/shared/state/action.ts";
import { FakeClock, fakePorts } from "../fake-room.ts";

function window(memory = fakePorts().memory) {
  const clock = new FakeClock();
  const store = new Store();
  const keeping = new Keeping(memory, clock);
  store.listen((action, state) => keeping.heard(action, state));
  for (const action of keeping.restore()) store.dispatch(action);
  const run = (...actions: readonly Action[]): void => actions.forEach(store.dispatch);
  return { memory, clock, store, keeping, run };
}

test("all comes back after a reload, also one that came right behind the last key", () => {
  const first = window();
  first.run({ type: "opened", session: "s" });
  first.run({
    type: "attach",
    attachment: { kind: "mention", id: "m", label: "a.py", path: "a.py" },
  });
  first.run({ type: "attach", attachment: { kind: "context", id: "c", label: "x", tokens: 1 } });
  first.run({ type: "history", prompts: ["earlier"] });
  first.keeping.setTyped("half a sen");
  first.keeping.dispose();
  const second = window(first.memory);
  assert.equal(second.keeping.typed, "half a sen");
  assert.equal(second.keeping.session, "s");
  assert.deepEqual(
    second.store.state.attachments.map((one) => one.id),
    ["m"],
  );
  assert.deepEqual(second.store.state.history, ["earlier"]);
});

test("a key, a send and a word that came back are written at once, and each counts", () => {
  const one = window();
  one.keeping.setTyped("half a sen", 5);
  assert.equal(window(one.memory).keeping.typed, "half a sen");
  one.keeping.setTyped("");
  assert.equal(window(one.memory).keeping.typed, "");
  one.run({ type: "draft", text: "came back", mode: "replace" });
  const again = window(one.memory).keeping;
  assert.equal(again.typed, "came back");
  assert.equal(again.typedAt, 7);
});

test("while one write is on its way no second one begins, and the last words are written", async () => {
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
  const { keeping } = window(slow);
  keeping.setTyped("a");
  keeping.setTyped("ab");
  keeping.setTyped("abc");
  assert.deepEqual(written, ["a"]);
  for (const end of ends) end();
  await new Promise((next) => setImmediate(next));
  assert.deepEqual(written, ["a", "abc"]);
});

test("words that came back stand with what was typed, for a webview that is made anew", () => {
  const one = window();
  one.keeping.setTyped("typed since");
  one.run({ type: "draft", text: "came back", mode: "replace" });
  assert.equal(one.keeping.typed, "came back\n\ntyped since");
});

test("a new session is not taken up again by a reload", () => {
  const one = window();
  one.run({ type: "opened", session: "s" }, { type: "opened", session: null });
  assert.equal(window(one.memory).keeping.session, null);
});

test("a storage of somebody else's is not believed", () => {
  const { memory } = fakePorts();
  memory.set("typed", { not: "text" });
  memory.set("attachments", [{ kind: "context", id: "c" }]);
  memory.set("history", "x");
  const one = window(memory);
  assert.equal(one.keeping.typed, "");
  assert.deepEqual(one.store.state.attachments, []);
  assert.deepEqual(one.store.state.history, []);
});

test("pictures beyond what a storage should hold are left out, words never", () => {
  const one = window();
  const picture = (id: string): Action => ({
    type: "attach",
    attachment: { kind: "image", id, label: id, mime: "image/png", data: "A".repeat(5_000_000) },
  });
  one.run(picture("a"), picture("b"));
  one.keeping.setTyped("words");
  one.clock.advance(1000);
  const again = window(one.memory);
  assert.equal(again.keeping.typed, "words");
  assert.equal(again.store.state.attachments.length, 1);
  assert.match(again.store.state.banner?.text ?? "", /attach them again/);
});

test("a prompt that went out and never began comes back once, with its chips, but not from the queue", () => {
  const first = window();
  const mention = { kind: "mention", id: "m", label: "a.py", path: "a.py" } as const;
  const send = (id: number, words: string): void => {
    first.keeping.went(id, words, [mention]);
    first.run({ type: "sent", id, words, images: [], taken: ["m"] });
  };
  send(1, "one");
  send(2, "two");
  send(3, "queued");
  first.run({ type: "answered", id: 1, attachments: [] });
  const second = window(first.memory);
  assert.deepEqual(second.keeping.unsent(["queued"]), [
    { type: "attach", attachment: mention },
    { type: "draft", text: "two", mode: "replace" },
  ]);
  assert.deepEqual(second.keeping.unsent([]), []);
  assert.deepEqual(window(first.memory).keeping.unsent([]), []);
});
