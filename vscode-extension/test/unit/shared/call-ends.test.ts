/** A call ends in the same words while it is watched and in the history after a reload. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { PieceRow, TurnRow } from "../../../src/protocol.ts";
import { turnOfPage } from "../../../src/shared/page-turn.ts";
import { isBad, outcomeWords } from "../../../src/shared/tool-words.ts";
import { emptyTurn } from "../../../src/shared/turn-list.ts";
import { withToolFinished, withToolStarted } from "../../../src/shared/turn-tools.ts";
import { endingWords } from "../../../src/shared/words.ts";
import { told } from "./told.ts";

/** What the server says of a call, what its line says, and whether that is red. */
const ENDS: readonly (readonly [text: string, figure: string, words: string, bad: boolean])[] = [
  ["the user did not allow this; go on without it", "failed", "refused", false],
  ["nobody answered whether this may run, so it did not", "failed", "refused", false],
  ["not allowed: the mode is plan", "failed", "refused", false],
  ["'x.py' is not there", "failed", "failed", true],
  ["exit code 1", "failed 1", "failed 1", true],
  ["[interrupted before it finished; its effect, if any, is unknown]", "", "stopped", false],
  ["[unknown outcome: Indwell ended while this ran; look]", "", "stopped", false],
  ["[not done: Indwell ended before this began; call it again]", "", "stopped", false],
];

function piece(text: string, more: Partial<PieceRow>): PieceRow {
  return {
    kind: "tool",
    text,
    source: "bash",
    id: "c1",
    arguments: "{}",
    error: true,
    answered: true,
    cut: 0,
    target: "ls",
    figure: "",
    seconds: 1,
    diff: "",
    inner: [],
    ...more,
  };
}

function page(one: PieceRow, ending: TurnRow["ending"]): TurnRow {
  return {
    turn: 1,
    at: "",
    ending,
    message: "",
    usage: { input: 0, cached: 0, output: 0, cost: 0 },
    pieces: [one],
    left: false,
    title: "",
    attached: [],
    mode: null,
    seconds: 1,
    changes: [],
  };
}

for (const [text, figure, words, bad] of ENDS)
  test(`"${text}" is told as ${words}, live and in history`, () => {
    const call = { turn: 1, id: "c1", name: "bash", target: "ls" };
    const begin = told({ type: "toolStarted", ...call });
    const end = told({
      type: "toolFinished",
      ...call,
      isError: true,
      figure,
      seconds: 1,
      message: text,
    });
    assert.ok(begin.type === "toolStarted" && end.type === "toolFinished");
    const live = withToolFinished(withToolStarted(emptyTurn("s", 1), begin, "k"), end, "k");
    const past = turnOfPage("s", "m", page(piece(text, { figure }), "done"), false);
    for (const { parts } of [live, past]) {
      const [card] = parts;
      assert.ok(card?.kind === "tool");
      assert.deepEqual([outcomeWords(card), isBad(card)], [words, bad]);
    }
  });

test("a call without an end, of a turn that a reload interrupted, is stopped and not red", () => {
  for (const ending of [null, "interrupted"] as const) {
    const open = piece("", { answered: false, seconds: null, error: false });
    const turn = turnOfPage("s", "m", page(open, ending), false);
    const [card] = turn.parts;
    assert.ok(card?.kind === "tool");
    assert.deepEqual([outcomeWords(card), isBad(card)], ["stopped", false]);
    assert.equal(endingWords(turn.ending), "Interrupted: Indwell ended while this turn ran");
  }
});
