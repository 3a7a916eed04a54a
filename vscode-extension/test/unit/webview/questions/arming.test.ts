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

test("UI-12: a question accepts no answer in its first 500 ms", () => {
  assert.equal(ARMING_MS, 500);
  const arming = shown(1_000, 0);
  assert.equal(armsIn(arming, 1_000), 500);
  assert.equal(armsIn(arming, 1_499), 1);
  assert.equal(armsIn(arming, 1_500), 0);
});

test("UI-12: each key press restarts the 500 ms, also one just before the question appears", () => {
  assert.equal(armsIn(shown(1_000, 990), 1_490), 10);
  assert.equal(armsIn(keyPressed(shown(1_000, 0), 1_400), 1_500), 400);
  assert.equal(armsIn(keyPressed(shown(1_000, 0), 900), 1_500), 0);
});

test("UI-12: a question takes the focus only if the panel has it and no text field does", () => {
  assert.equal(mayTakeFocus({ panelHasFocus: true, inText: true }), false);
  assert.equal(mayTakeFocus({ panelHasFocus: false, inText: false }), false);
  assert.equal(mayTakeFocus({ panelHasFocus: true, inText: false }), true);
});

test("UI-12: letter keys are ignored for 500 ms after the card gets the focus", () => {
  const arming = shown(1_000, 0);
  assert.equal(lettersIn(arming, 5_000, 5_100), 400);
  assert.equal(lettersIn(arming, 5_000, 5_500), 0);
  assert.equal(lettersIn(keyPressed(arming, 5_400), 5_000, 5_500), 400);
});

test("only keys that type a letter count as typing", () => {
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

test("the message about an early answer names the key and says what to do next", () => {
  assert.equal(earlyWords("N"), "N came too early and answered nothing. Press N again.");
  assert.equal(earlyWords(""), "The click came too early and answered nothing. Click again.");
});
