/**
 * Checks that the panel shows a session equally from live events and from the page of its log.
 * `tests/vscode/test_told_once.py` writes the file with the sessions and runs this script.
 */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import type { Event, SessionResult, TurnRow } from "../src/protocol.ts";
import type { Action } from "../src/shared/state/action.ts";
import { initialState, reduce } from "../src/shared/state/reducer.ts";
import type { PanelState, Part, Turn } from "../src/shared/state/state.ts";

interface Story {
  readonly live: readonly Event[];
  readonly page: { readonly session: string; readonly turns: readonly TurnRow[] };
}

const path = process.argv[2] ?? "";
const stories: Readonly<Record<string, Story>> = JSON.parse(readFileSync(path, "utf8"));
for (const [name, { live, page }] of Object.entries(stories)) {
  const { session } = page;
  const watched = live
    .map((event, place): Action => ({ type: "event", session, seq: place + 1, event, at: place }))
    .reduce(reduce, opened(session));
  const rest = { title: "", at: "", model: "", total: page.turns.length, more: false };
  const answer: SessionResult = { ...page, ...rest, notices: [], todo: [], plan: null };
  const pageRead = { type: "page", page: answer, where: "replace", seq: live.length } as const;
  assert.ok(page.turns.length > 0, `${name} has turns`);
  assert.deepEqual(
    reduce(opened(session), pageRead).turns.map(comparable),
    watched.turns.map(comparable),
    name,
  );
  assert.deepEqual(
    reduce(watched, pageRead).turns,
    watched.turns,
    `${name}: a page changes nothing`,
  );
}
process.stdout.write(`${Object.keys(stories).length} agree\n`);

function opened(session: string): PanelState {
  return reduce(initialState, { type: "opened", session });
}

/** Returns a turn without the fields that no log has, such as `verified` and `retryable`. */
function comparable(turn: Turn): object {
  const { round, next, verified, retryable, parts, ...rest } = turn;
  return { ...rest, parts: parts.flatMap(part) };
}

function part(one: Part): readonly object[] {
  switch (one.kind) {
    case "text":
    case "thinking":
      return [{ kind: one.kind, text: one.text, final: one.final }];
    case "line": // most notices, and running checks, have no record
      return one.what === "steered" || one.what === "compacted" ? [{ ...one, key: "" }] : [];
    case "tool": {
      const inner = one.inner.flatMap(part);
      // A live call that the user stopped has no result; the log has the text for the model.
      if (one.state === "stopped") return [{ id: one.id, name: one.name, state: one.state, inner }];
      return [{ ...one, key: "", output: "", cut: 0, tokens: 0, inner }];
    }
    default:
      return one satisfies never;
  }
}
