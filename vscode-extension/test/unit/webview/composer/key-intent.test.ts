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

test("Enter sends, Shift+Enter breaks, Control+Enter sends next", () => {
  assert.equal(press("Enter"), "send");
  assert.equal(press("Enter", {}, { shift: true }), "default");
  assert.equal(press("Enter", {}, { control: true }), "sendNext");
});

test("where Enter breaks, Control+Enter sends and with Shift sends next", () => {
  const off = { enterSends: false };
  assert.equal(press("Enter", off), "default");
  assert.equal(press("Enter", off, { control: true }), "send");
  assert.equal(press("Enter", off, { control: true, shift: true }), "sendNext");
});

test("while an input method composes no key is ours, whatever is open", () => {
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

test("an open list takes Enter, Tab and the arrows; Shift+Enter still breaks", () => {
  const open = { listOpen: true, firstLine: true, lastLine: true };
  assert.equal(press("Enter", open), "choose");
  assert.equal(press("Tab", open), "descend");
  assert.equal(press("ArrowDown", open), "nextRow");
  assert.equal(press("ArrowUp", open), "previousRow");
  assert.equal(press("Enter", open, { shift: true }), "default");
  assert.equal(press("Tab", open, { shift: true }), "default");
});

test("arrows walk through earlier prompts only from the first and the last line", () => {
  assert.equal(press("ArrowUp", { firstLine: true }), "older");
  assert.equal(press("ArrowUp"), "default");
  assert.equal(press("ArrowUp", { firstLine: true }, { shift: true }), "default");
  assert.equal(press("ArrowDown", { lastLine: true }), "newer");
  assert.equal(press("ArrowDown"), "default");
});

test("Backspace before the first character goes to the last chip", () => {
  assert.equal(press("Backspace", { atStart: true }), "lastChip");
  assert.equal(press("Backspace"), "default");
});
