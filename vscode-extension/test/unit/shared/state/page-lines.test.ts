import assert from "node:assert/strict";
import { test } from "node:test";
import { turnOfPage } from "../../../../src/shared/state/reduce-page.ts";
import { makeEvent } from "./make-event.ts";

function lineOf(message: string): string {
  const events = [makeEvent({ type: "notice", turn: 1, level: "info", message })];
  const row = { turn: 1, at: "", left: false, cut: 0, events };
  const [part] = turnOfPage("s", row, false).parts;
  return part?.kind === "line" ? part.text : "";
}

test("the notice of a fork omits the id of the original session", () => {
  assert.equal(
    lineOf("forked from session 20261122-120033-713-f2c363fe2f3e, at the end of its turn 1"),
    "Forked from another session, at the end of its turn 1",
  );
});

test("other notices of the log keep their words", () => {
  assert.equal(lineOf("the session was imported"), "The session was imported");
  assert.equal(lineOf("src/a.py was left out"), "src/a.py was left out");
});
