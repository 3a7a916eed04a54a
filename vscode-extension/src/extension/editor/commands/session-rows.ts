/** Formats sessions, turns, models and modes as lines of a list. Pure. */

import type { ModelRow, SessionRow } from "../../../protocol.ts";
import { AUTO, effortWords } from "../../../shared/effort-words.ts";
import { costFigure } from "../../../shared/figures.ts";
import { number, plural, t } from "../../../shared/l10n.ts";
import { modeWords } from "../../../shared/mode-words.ts";
import type { Turn } from "../../../shared/state.ts";

/** A line; `value` is the item that it represents. */
export interface PickRow<Value> {
  readonly label: string;
  readonly description: string;
  readonly detail: string;
  readonly value: Value;
}

/** The line of a past session. */
export function sessionRow(row: SessionRow): PickRow<string> {
  const cost = row.usage.cost === null ? "" : `, ${costFigure(row.usage.cost) ?? ""}`;
  const turns = plural(row.turns, "{0} turn", "{0} turns");
  return {
    label: row.open ? `$(check) ${row.title || row.preview}` : row.title || row.preview || row.id,
    description: `${turns}${cost}`,
    detail: `${row.at.slice(0, 16).replace("T", " ")} · ${row.model}`,
    value: row.id,
  };
}

/**
 * Returns the turns to which a session can be rewound: after each turn but the last, newest first,
 * and the beginning.
 */
export function rewindRows(
  turns: readonly Turn[],
  session: string | null,
): readonly PickRow<number>[] {
  const own = turns.filter((one) => one.session === session && !one.left);
  const rows = own.slice(0, -1).map((one) => ({
    label: t("After turn {0}", one.number),
    description: oneLine(one.words),
    detail: "",
    value: one.number,
  }));
  const first = own[0];
  if (first === undefined) return [];
  const start =
    first.number === 1
      ? [
          {
            label: t("Before the first turn"),
            description: oneLine(first.words),
            detail: "",
            value: 0,
          },
        ]
      : [];
  return [...start, ...rows].reverse();
}

/** The line of a model, with its window and prices. */
export function modelRow(row: ModelRow): PickRow<string> {
  const window = row.window === null ? "" : t("{0}k tokens", number(Math.round(row.window / 1000)));
  const price =
    row.input === null || row.output === null
      ? ""
      : t("{0} in, {1} out per million tokens", `$${number(row.input)}`, `$${number(row.output)}`);
  return {
    label: row.chosen ? `$(check) ${row.name}` : row.name,
    description: [window, price].filter((one) => one !== "").join(" · "),
    detail:
      row.tools === false ? t("Does not support tool calls: it can answer, but not edit") : "",
    value: row.name,
  };
}

/** The choices of reasoning effort; the first lets the model decide. */
export function effortRows(
  efforts: readonly string[],
  current: string,
): readonly PickRow<string>[] {
  return ["", ...efforts].map((one) => {
    const name = one === "" ? AUTO : one;
    const label = one === current ? `$(check) ${name}` : name;
    return { label, description: effortWords(name), detail: "", value: one };
  });
}

/** The line of a mode, with a sentence that describes the mode. */
export function modeRow(mode: string, current: string): PickRow<string> {
  return {
    label: mode === current ? `$(check) ${mode}` : mode,
    description: modeWords(mode),
    detail: "",
    value: mode,
  };
}

function oneLine(words: string): string {
  const line = words.replace(/\s+/g, " ").trim();
  return line.length > 80 ? `${line.slice(0, 79)}…` : line;
}
