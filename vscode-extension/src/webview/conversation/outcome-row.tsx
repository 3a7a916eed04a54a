/** An older turn in one line: what came of it. Opens the whole turn. */
import { countFigure, durationFigure, LEAST_TIME, linesFigure } from "../../shared/figures.ts";
import type { Turn } from "../../shared/state.ts";
import { endingWords } from "../../shared/words.ts";
import { Icon } from "../icon.tsx";
import { turnKey } from "./rows.ts";

interface Props {
  readonly turn: Turn;
  readonly toggle: (key: string) => void;
}

export function OutcomeRow({ turn, toggle }: Props) {
  return (
    <button
      type="button"
      class="outcome"
      aria-expanded="false"
      onClick={() => toggle(turnKey(turn))}
    >
      <Icon name="chevron-right" />
      <span class="outcome-words">{answerStart(turn)}</span>
      <span class="figure">{outcome(turn)}</span>
    </button>
  );
}

/** The first words of the last answer, without the signs of Markdown. */
function answerStart(turn: Turn): string {
  const answer = turn.parts.findLast((part) => part.kind === "text");
  const text = answer?.kind === "text" ? answer.text.trimStart().slice(0, 300) : "";
  const line = text.split("\n")[0] ?? "";
  const plain = line.replace(/^[#>*\-\s]+/, "").replace(/[`*_]+/g, "");
  const words = plain === "" ? turn.message : plain;
  return words === "" ? endingWords(turn.ending) || "Done" : words;
}

function outcome(turn: Turn): string {
  if (turn.ending === "failed") return "failed";
  if (turn.ending !== "done") return "stopped";
  const { changes } = turn;
  if (changes.length > 0) {
    const sum = (side: "added" | "removed") => changes.reduce((all, one) => all + one[side], 0);
    return `${countFigure(changes.length, "file")} ${linesFigure(sum("added"), sum("removed"))}`;
  }
  const calls = turn.parts.filter((part) => part.kind === "tool").length;
  if (calls > 0) return countFigure(calls, "step");
  return turn.seconds === null || turn.seconds < LEAST_TIME ? "" : durationFigure(turn.seconds);
}
