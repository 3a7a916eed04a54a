import assert from "node:assert/strict";
import { test } from "node:test";
import {
  ARMING_MS,
  armsIn,
  earlyWords,
  isTyping,
  keyPressed,
  lettersIn,
  mayTakeFocus,
  shown,
} from "../../../../src/webview/questions/arming.ts";

test("UI-12: no answer counts within 500 ms of the question's appearing", () => {
  assert.equal(ARMING_MS, 500);
  const arming = shown(1_000, 0);
  assert.equal(armsIn(arming, 1_000), 500);
  assert.equal(armsIn(arming, 1_499), 1);
  assert.equal(armsIn(arming, 1_500), 0);
});

test("UI-12: each key puts it off, also one that was pressed before the question came", () => {
  assert.equal(armsIn(shown(1_000, 990), 1_490), 10);
  assert.equal(armsIn(keyPressed(shown(1_000, 0), 1_400), 1_500), 400);
  assert.equal(armsIn(keyPressed(shown(1_000, 0), 900), 1_500), 0);
});

test("UI-12: a question never takes the focus out of a field for text, not even an empty one", () => {
  assert.equal(mayTakeFocus({ panelHasFocus: true, inText: true }), false);
  assert.equal(mayTakeFocus({ panelHasFocus: false, inText: false }), false);
  assert.equal(mayTakeFocus({ panelHasFocus: true, inText: false }), true);
});

test("UI-12: letters do not count within 500 ms of the focus coming into the card", () => {
  const arming = shown(1_000, 0);
  assert.equal(lettersIn(arming, 5_000, 5_100), 400);
  assert.equal(lettersIn(arming, 5_000, 5_500), 0);
  assert.equal(lettersIn(keyPressed(arming, 5_400), 5_000, 5_500), 400);
});

test("keys that move or press are no typing", () => {
  assert.deepEqual(["Tab", "Enter", " ", "ArrowDown", "Shift", "o", "S", "é"].map(isTyping), [
    false,
    false,
    false,
    false,
    false,
    true,
    true,
    true,
  ]);
});

test("what came too early is named, with what to do next", () => {
  assert.equal(earlyWords("N"), "N came too early and answered nothing. Press N again.");
  assert.equal(earlyWords(""), "The click came too early and answered nothing. Click again.");
});
