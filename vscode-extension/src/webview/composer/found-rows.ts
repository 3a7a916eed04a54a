/** Chooses the rows of a completion list, best first. Pure. */

import type { ModelRow } from "../../protocol.ts";
import { COMMANDS } from "../../shared/commands.ts";
import { AUTO, effortWords } from "../../shared/effort-words.ts";
import { type FoundRow, mentionQuery } from "../../shared/messages.ts";
import { fuzzy } from "./fuzzy.ts";
import { modeWords } from "./mode-words.ts";
import { modelWords } from "./model-words.ts";

/**
 * The maximum number of rows of a list that the webview makes; the host limits the rows that it
 * sends.
 */
export const MOST_ROWS = 50;

/** A row with the matched positions of its label. */
export interface ShownRow {
  readonly row: FoundRow;
  readonly at: readonly number[];
}

/** The arguments offered for a command. */
export interface Offered {
  readonly modes: readonly string[];
  readonly models: readonly ModelRow[];
  readonly efforts: readonly string[];
}

/**
 * Returns the host's rows for `@`, in the host's order, with the positions that match the typed
 * text.
 */
export function mentionRows(found: readonly FoundRow[], typed: string): readonly ShownRow[] {
  const { query } = mentionQuery(typed);
  return found.slice(0, MOST_ROWS).map((row) => ({ row, at: fuzzy(query, row.label)?.at ?? [] }));
}

/** Returns commands, values for `/mode `, `/model ` and `/effort `, and skills from the host. */
export function commandRows(
  query: string,
  offered: Offered,
  found: readonly FoundRow[],
): readonly ShownRow[] {
  const space = query.indexOf(" ");
  if (space !== -1)
    return ranked(query.slice(space + 1), valueRows(query.slice(0, space), offered));
  const own = COMMANDS.map(
    (one): FoundRow => ({
      kind: "command",
      label: `/${one.name}`,
      detail: one.detail,
      value: `/${one.name}`,
    }),
  );
  const names = new Set(own.map((row) => row.value));
  return ranked(query, [...own, ...found.filter((row) => !names.has(row.value))]);
}

function valueRows(command: string, offered: Offered): readonly FoundRow[] {
  const row = (label: string, detail: string): FoundRow => ({
    kind: "command",
    label,
    detail,
    value: `/${command} ${label}`,
  });
  if (command === "mode") return offered.modes.map((mode) => row(mode, modeWords(mode)));
  if (command === "model") return offered.models.map((model) => row(model.name, modelWords(model)));
  if (command === "effort")
    return [AUTO, ...offered.efforts].map((one) => row(one, effortWords(one)));
  const values = COMMANDS.find((one) => one.name === command)?.values;
  return Array.isArray(values) ? values.map((verb) => row(verb.name, verb.detail)) : [];
}

function ranked(query: string, rows: readonly FoundRow[]): readonly ShownRow[] {
  const matches = rows.flatMap((row) => {
    const match = fuzzy(query, row.label);
    return match === null ? [] : [{ row, at: match.at, score: match.score }];
  });
  return matches
    .toSorted((left, right) => right.score - left.score)
    .slice(0, MOST_ROWS)
    .map(({ row, at }) => ({ row, at }));
}

/** Returns the codicon for a kind of row. */
export function rowIcon(kind: FoundRow["kind"]): string {
  switch (kind) {
    case "file":
      return "file";
    case "folder":
      return "folder";
    case "symbol":
      return "symbol-method";
    case "problems":
      return "warning";
    case "changes":
      return "source-control";
    case "selection":
      return "selection";
    case "narrow":
      return "search";
    case "resource":
      return "database";
    case "terminal":
      return "terminal";
    case "command":
      return "chevron-right";
    case "skill":
      return "lightbulb";
    default:
      return kind satisfies never;
  }
}
