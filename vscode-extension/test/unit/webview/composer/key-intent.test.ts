import assert from "node:assert/strict";
import { test } from "node:test";
import {
  type KeyFacts,
  keyIntent,
  type Situation,
} from "../../../../src/webview/composer/text-box.tsx";

const NOW: Situation = {
  enterSends: true,
  running: false,
  listOpen: false,
  empty: false,
  firstLine: false,
  lastLine: false,
  atStart: false,
};

function press(key: string, now: Partial<Situation> = {}, more: Partial<KeyFacts> = {}) {
  const facts = { key, shift: false, control: false, alt: false, composing: false, ...more };
  return keyIntent(facts, { ...NOW, ...now });
}

test("Enter sends, Shift+Enter breaks the line, and Control+Enter sends as the next prompt", () => {
  assert.equal(press("Enter"), "send");
  assert.equal(press("Enter", {}, { shift: true }), "default");
  assert.equal(press("Enter", {}, { control: true }), "sendNext");
});

test("if Enter breaks the line, Control+Enter sends, and with Shift sends as the next prompt", () => {
  const off = { enterSends: false };
  assert.equal(press("Enter", off), "default");
  assert.equal(press("Enter", off, { control: true }), "send");
  assert.equal(press("Enter", off, { control: true, shift: true }), "sendNext");
});

test("while an input method composes, every key keeps its default action", () => {
  for (const key of ["Enter", "Escape", "Tab", "ArrowUp", "ArrowDown", "Backspace"]) {
    for (const listOpen of [true, false]) {
      const now = { listOpen, running: true, firstLine: true, lastLine: true, atStart: true };
      assert.equal(press(key, now, { composing: true }), "default", key);
    }
  }
});

test("Escape closes a list first, then stops the turn", () => {
  assert.equal(press("Escape", { listOpen: true, running: true }), "closeList");
  assert.equal(press("Escape", { running: true }), "stop");
  assert.equal(press("Escape"), "default");
});

test("an open list handles Enter, Tab and the arrow keys, but not Shift+Enter and Shift+Tab", () => {
  const open = { listOpen: true, firstLine: true, lastLine: true };
  assert.equal(press("Enter", open), "choose");
  assert.equal(press("Tab", open), "descend");
  assert.equal(press("ArrowDown", open), "nextRow");
  assert.equal(press("ArrowUp", open), "previousRow");
  assert.equal(press("Enter", open, { shift: true }), "default");
  assert.equal(press("Tab", open, { shift: true }), "default");
});

test("the arrow keys recall prompts only from the first and the last line", () => {
  assert.equal(press("ArrowUp", { firstLine: true }), "older");
  assert.equal(press("ArrowUp"), "default");
  assert.equal(press("ArrowUp", { firstLine: true }, { shift: true }), "default");
  assert.equal(press("ArrowDown", { lastLine: true }), "newer");
  assert.equal(press("ArrowDown"), "default");
});

test("Backspace before the first character moves the focus to the last chip", () => {
  assert.equal(press("Backspace", { atStart: true }), "lastChip");
  assert.equal(press("Backspace"), "default");
});
