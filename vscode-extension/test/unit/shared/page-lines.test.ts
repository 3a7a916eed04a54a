import assert from "node:assert/strict";
import { test } from "node:test";
import type { PieceRow } from "../../../src/protocol.ts";
import { turnOfPage } from "../../../src/shared/page-turn.ts";

function lineOf(text: string): string {
  const none = { source: "", id: "", arguments: "", target: "", figure: "", diff: "" };
  const state = { error: false, answered: false, cut: 0, seconds: null, inner: [] };
  const piece: PieceRow = { kind: "notice", text, ...none, ...state };
  const usage = { input: 1, cached: 0, output: 1, cost: null };
  const words = { title: "", message: "", at: "", ending: "done", mode: null } as const;
  const rest = { usage, pieces: [piece], left: false, attached: [], seconds: null, changes: [] };
  const part = turnOfPage("s", "m", { turn: 1, ...words, ...rest }, false).parts[0];
  return part?.kind === "line" ? part.text : "";
}

test("a fork says where it comes from without a number that nobody knows", () => {
  assert.equal(
    lineOf("forked from session 20261122-120033-713-f2c363fe2f3e, at the end of its turn 1"),
    "Forked from another session, at the end of its turn 1",
  );
});

test("other notices of the log are as they were said", () => {
  assert.equal(lineOf("the session was imported"), "The session was imported");
});
