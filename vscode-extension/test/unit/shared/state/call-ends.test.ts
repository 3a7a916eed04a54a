/** The end of a tool call has the same words live and after a reload. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Event } from "../../../../src/protocol.ts";
import { turnOfPage } from "../../../../src/shared/state/reduce-page.ts";
import type { Turn } from "../../../../src/shared/state/state.ts";
import { emptyTurn } from "../../../../src/shared/state/turn-list.ts";
import { withToolFinished, withToolStarted } from "../../../../src/shared/state/turns.ts";
import { isBad, outcomeWords } from "../../../../src/shared/tool-words.ts";
import { endingWords } from "../../../../src/shared/words.ts";
import { finishedTurn, makeEvent } from "./make-event.ts";

/** The server's message and figure for a call, the words in its row, and whether the row is red. */
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

function fromHistory(...events: readonly Event[]): Turn {
  return turnOfPage("s", { turn: 1, at: "", left: false, cut: 0, events }, false);
}

for (const [text, figure, words, bad] of ENDS)
  test(`a call with the message "${text}" is shown as ${words}, live and after a reload`, () => {
    const call = { turn: 1, id: "c1", name: "bash", target: "ls" };
    const begin = makeEvent({ type: "toolStarted", ...call });
    const end = makeEvent({
      type: "toolFinished",
      ...call,
      isError: true,
      figure,
      seconds: 1,
      message: text,
    });
    assert.ok(begin.type === "toolStarted" && end.type === "toolFinished");
    const live = withToolFinished(withToolStarted(emptyTurn("s", 1), begin, "k"), end, "k");
    for (const { parts } of [live, fromHistory(begin, end)]) {
      const [card] = parts;
      assert.ok(card?.kind === "tool");
      assert.deepEqual([outcomeWords(card), isBad(card)], [words, bad]);
    }
  });

test("an unfinished call of an interrupted turn is shown as stopped and not in red", () => {
  const call = { turn: 1, id: "c1", name: "bash", target: "ls" };
  const begin = makeEvent({ type: "toolStarted", ...call });
  for (const turn of [fromHistory(begin), fromHistory(begin, finishedTurn("interrupted"))]) {
    const [card] = turn.parts;
    assert.ok(card?.kind === "tool");
    assert.deepEqual([outcomeWords(card), isBad(card)], ["stopped", false]);
    assert.equal(endingWords(turn.ending), "Interrupted: Indwell ended while this turn ran");
  }
});
