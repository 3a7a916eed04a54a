import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { changeBar, fileBar, keysOf } from "../../../../src/extension/editor/pending/bar.ts";
import type { PendingLines } from "../../../../src/extension/editor/pending/pending-lines.ts";

const CHANGE: PendingLines = {
  id: "h1",
  kind: "change",
  first: 6,
  count: 2,
  old: "a\n",
  removed: 1,
  turn: 4,
  touched: false,
};
const PLACE = { uri: "file:///a.py", number: 2, total: 3, all: 5, isMac: false };

const titles = (change: PendingLines, place = PLACE) =>
  changeBar(change, place).map(({ title }) => title.replaceAll("\u00a0", " "));

test("the bar of a change offers its verdicts, its neighbours and its diff, with the keys", () => {
  assert.deepEqual(titles(CHANGE), [
    "$(check) Accept Ctrl+K Y",
    "$(close) Reject Ctrl+K N",
    "$(arrow-up) Ctrl+K ,",
    "$(arrow-down) Ctrl+K .",
    "$(diff) +2 −1 · 2 of 3 · turn 4",
  ]);
  assert.deepEqual(
    changeBar(CHANGE, PLACE).map(({ command }) => command),
    [
      "indwell.accept",
      "indwell.reject",
      "indwell.previousChange",
      "indwell.nextChange",
      "indwell.openDiff",
    ],
  );
});

test("the bar of a single change has no neighbours, and marks a new file and an edited change", () => {
  const alone = { ...PLACE, number: 1, total: 1, all: 1, isMac: true };
  assert.deepEqual(titles({ ...CHANGE, kind: "create", touched: true }, alone), [
    "$(check) Accept ⌘K Y",
    "$(close) Reject ⌘K N",
    "$(diff) +2 −1 · new file · turn 4 · edited since",
  ]);
});

test("a file with several changes or a verdict to undo has a bar at its top", () => {
  const words = (hunks: readonly string[], undo: string) =>
    fileBar(hunks, "file:///a.py", undo, false).map(({ title }) => title.replaceAll("\u00a0", " "));
  assert.deepEqual(words(["h1"], ""), []);
  assert.deepEqual(words(["h1", "h2"], ""), [
    "$(check-all) Accept all 2",
    "$(close-all) Reject all 2",
    "$(diff) Diff",
  ]);
  assert.deepEqual(words(["h1"], "accepted 1 change in a.py"), ["$(discard) Undo Ctrl+K Shift+Y"]);
});

test("the keys in the bar equal the key bindings of the manifest", () => {
  const manifest: {
    contributes: { keybindings: { command: string; key: string; mac: string }[] };
  } = JSON.parse(readFileSync("package.json", "utf8"));
  const plain = (keys: string) => keys.toLowerCase().replace("⌘", "cmd+").replace("⇧", "shift+");
  for (const name of [
    "acceptChange",
    "rejectChange",
    "previousChange",
    "nextChange",
    "undoVerdict",
  ]) {
    const bound = manifest.contributes.keybindings.find((one) => one.command === `indwell.${name}`);
    assert.equal(plain(keysOf(`indwell.${name}`, false)), bound?.key);
    assert.equal(plain(keysOf(`indwell.${name}`, true)), bound?.mac);
  }
});
