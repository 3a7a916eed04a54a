import assert from "node:assert/strict";
import { mock, test } from "node:test";
import { MOST_WORDS, type ToHost } from "../../../../src/shared/messages.ts";
import { DraftKeeper } from "../../../../src/webview/composer/draft.ts";
import { KeptWords, type Slot } from "../../../../src/webview/host/kept-words.ts";

/** The state that the editor stores for a panel across reloads. */
function memory(): Slot {
  let state: unknown;
  return {
    getState: () => state,
    setState: (fresh) => {
      state = structuredClone(fresh);
    },
  };
}

function start(typed = "", drafted = 0, slot = memory(), typedAt = 0) {
  const posted: ToHost[] = [];
  let sendSnapshot = (_typed: string): void => {};
  const channel = {
    typed,
    typedAt,
    kept: new KeptWords(slot),
    drafted,
    onDraft: () => () => {},
    onSnapshot: (listener: (typed: string) => void) => {
      sendSnapshot = listener;
      return () => {};
    },
  };
  const keeper = new DraftKeeper(channel, (message) => posted.push(message));
  return { keeper, posted, slot, snapshot: (kept: string) => sendSnapshot(kept) };
}

const draft = (id: number, text: string, mode: "replace" | "append" = "replace") => ({
  id,
  text,
  mode,
});

test("a new panel starts with the host's text and takes each draft once", () => {
  const { keeper, posted } = start("kept", 4);
  keeper.take(draft(4, "kept", "append"));
  assert.equal(keeper.text, "kept");
  keeper.take(draft(5, "more", "append"));
  keeper.take(draft(5, "more", "append"));
  assert.equal(keeper.text, "kept\n\nmore");
  keeper.tell();
  assert.deepEqual(posted, [{ type: "typed", text: "kept\n\nmore", at: 1 }]);
});

test("each key press sends the text to the host", () => {
  const { keeper, posted } = start();
  keeper.typed("a");
  keeper.typed("ab");
  keeper.tell();
  assert.deepEqual(posted, [
    { type: "typed", text: "a", at: 1 },
    { type: "typed", text: "ab", at: 2 },
  ]);
});

test("a long text is sent to the host once, 200 ms after the last key press", () => {
  mock.timers.enable({ apis: ["setTimeout"] });
  const { keeper, posted } = start();
  const long = "x".repeat(20_001);
  keeper.typed(long);
  mock.timers.tick(150);
  keeper.typed(`${long}y`);
  mock.timers.tick(199);
  assert.deepEqual(posted, []);
  mock.timers.tick(1);
  mock.timers.tick(1_000);
  assert.deepEqual(posted, [{ type: "typed", text: `${long}y`, at: 1 }]);
  mock.timers.reset();
});

test("text that the host never received is restored from the editor's state and sent to the host", () => {
  const first = start("begun", 0, memory(), 4);
  first.keeper.typed("begun and");
  const again = start("begun", 0, first.slot, 4);
  assert.equal(again.keeper.text, "begun and");
  assert.deepEqual(again.posted, [{ type: "typed", text: "begun and", at: 6 }]);
});

test("newer text from the host and a sent prompt take precedence over the editor's state", () => {
  const first = start();
  first.keeper.typed("send me");
  assert.equal(start("", 0, first.slot, 2).keeper.text, "");
  assert.equal(start("came back", 0, first.slot, 2).keeper.text, "came back");
  first.keeper.sent();
  assert.equal(start("", 0, first.slot, 2).keeper.text, "");
});

test("a text longer than a message allows is not posted, but is kept", () => {
  mock.timers.enable({ apis: ["setTimeout"] });
  const first = start();
  first.keeper.typed("x".repeat(MOST_WORDS + 1));
  mock.timers.tick(1_000);
  assert.deepEqual(first.posted, []);
  assert.equal(start("", 0, first.slot).keeper.text.length, MOST_WORDS + 1);
  mock.timers.reset();
});

test("sending empties the composer, and a returned prompt goes before newer text", () => {
  const { keeper, posted } = start("send me");
  keeper.sent();
  assert.deepEqual(posted, [{ type: "typed", text: "", at: 1 }]);
  keeper.typed("typed since");
  keeper.take(draft(1, "send me"));
  assert.equal(keeper.text, "send me\n\ntyped since");
  keeper.tell();
});

test("a draft that arrives while an input method composes waits until the composition ends", () => {
  const { keeper } = start();
  keeper.hold(true);
  keeper.typed("に");
  keeper.take(draft(1, "back"));
  assert.equal(keeper.text, "に");
  keeper.hold(false);
  assert.equal(keeper.text, "back\n\nに");
  keeper.tell();
});

test("two drafts that arrive at once are both kept, also while an input method composes", () => {
  const { keeper } = start();
  keeper.take(draft(1, "one"));
  keeper.take(draft(2, "two"));
  assert.equal(keeper.text, "two\n\none");
  keeper.hold(true);
  keeper.take(draft(3, "three", "append"));
  keeper.take(draft(4, "four", "append"));
  keeper.hold(false);
  assert.equal(keeper.text, "two\n\none\n\nthree\n\nfour");
  keeper.tell();
});

test("a snapshot does not replace newer text", () => {
  const { keeper, snapshot, posted } = start();
  keeper.typed("newer");
  snapshot("older");
  assert.equal(keeper.text, "newer");
  keeper.tell();
  assert.deepEqual(posted, [
    { type: "typed", text: "newer", at: 1 },
    { type: "typed", text: "newer", at: 2 },
  ]);
});
