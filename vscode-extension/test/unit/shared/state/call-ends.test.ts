/** A call ends in the same words while it is watched and in the history after a reload. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Event } from "../../../../src/protocol.ts";
import { turnOfPage } from "../../../../src/shared/state/reduce-page.ts";
import type { Turn } from "../../../../src/shared/state/state.ts";
import { emptyTurn } from "../../../../src/shared/state/turn-list.ts";
import { withToolFinished, withToolStarted } from "../../../../src/shared/state/turns.ts";
import { isBad, outcomeWords } from "../../../../src/shared/tool-words.ts";
import { endingWords } from "../../../../src/shared/words.ts";
import { finished, told } from "./told.ts";

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

function past(...events: readonly Event[]): Turn {
  return turnOfPage("s", { turn: 1, at: "", left: false, cut: 0, events }, false);
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
    for (const { parts } of [live, past(begin, end)]) {
      const [card] = parts;
      assert.ok(card?.kind === "tool");
      assert.deepEqual([outcomeWords(card), isBad(card)], [words, bad]);
    }
  });

test("a call without an end, of a turn that a reload interrupted, is stopped and not red", () => {
  const call = { turn: 1, id: "c1", name: "bash", target: "ls" };
  const begin = told({ type: "toolStarted", ...call });
  for (const turn of [past(begin), past(begin, finished("interrupted"))]) {
    const [card] = turn.parts;
    assert.ok(card?.kind === "tool");
    assert.deepEqual([outcomeWords(card), isBad(card)], ["stopped", false]);
    assert.equal(endingWords(turn.ending), "Interrupted: Indwell ended while this turn ran");
  }
});
