/** Properties that hold for every stream of events, wherever it is cut. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { EventParams } from "../../../../src/protocol.ts";
import type { Action } from "../../../../src/shared/state/action.ts";
import { initialState, reduce } from "../../../../src/shared/state/reducer.ts";
import type { PanelState, Part, Turn } from "../../../../src/shared/state/state.ts";
import { RandomServer, random } from "./random-session.ts";

const RUNS = 150;
const OPENED: PanelState = reduce(initialState, { type: "opened", session: "s" });

function eventAction({ session, seq, event }: EventParams): Action {
  return { type: "event", session, seq, event, at: seq };
}

/**
 * The turns as the user reads them, without the parts that differ between the log and a live turn.
 */
function read(state: PanelState): readonly (readonly string[])[] {
  return state.turns.map((turn) => [
    `${turn.number} ${turn.words} ${turn.ending}`,
    ...turn.parts.flatMap(lines),
  ]);
}

function lines(part: Part): readonly string[] {
  if (part.kind === "line") return [];
  if (part.kind !== "tool") return [`${part.kind} ${part.text}`];
  return [
    `${part.id} ${part.state} ${part.figure}`,
    ...part.inner.flatMap(lines).map((line) => `  ${line}`),
  ];
}

function check(name: string, property: (next: () => number) => void): void {
  test(name, () => {
    for (let seed = 1; seed <= RUNS; seed += 1) {
      try {
        property(random(seed));
      } catch (error) {
        throw new Error(`seed ${seed}`, { cause: error });
      }
    }
  });
}

function session(next: () => number, turns = 3): RandomServer {
  const server = new RandomServer("s", next);
  for (let count = 0; count < turns; count += 1) for (const _ of server.turn());
  return server;
}

check("a snapshot and the remaining actions give the same state as all actions", (next) => {
  const actions = session(next).events.map(eventAction);
  const cut = Math.floor(next() * actions.length);
  const before = actions.slice(0, cut).reduce(reduce, OPENED);
  const copy: PanelState = JSON.parse(JSON.stringify(before));
  const rest = actions.slice(cut);
  assert.deepEqual(rest.reduce(reduce, copy), rest.reduce(reduce, before));
});

check("repeated events and events of other sessions change nothing", (next) => {
  const server = session(next);
  const other = new RandomServer("other", next);
  for (const _ of other.turn());
  const once = server.events.map(eventAction).reduce(reduce, OPENED);
  const mixed = server.events.flatMap((event) => {
    const foreign = other.events[Math.floor(next() * other.events.length)];
    const again = server.events[Math.floor(next() * event.seq)];
    return [event, foreign, again].flatMap((one) => (one === undefined ? [] : [eventAction(one)]));
  });
  const twice = mixed.reduce(reduce, OPENED);
  assert.deepEqual({ ...twice, revision: 0 }, { ...once, revision: 0 });
});

check("a page that arrives during a live session changes no turn", (next) => {
  const server = new RandomServer("s", next);
  let state = OPENED;
  for (let count = 0; count < 3; count += 1) {
    for (const event of server.turn()) {
      state = reduce(state, eventAction(event));
      if (next() > 0.2) continue;
      const { turns } = state;
      state = reduce(state, {
        type: "page",
        page: server.page(null, 20),
        where: "replace",
        seq: event.seq,
      });
      assert.deepEqual(state.turns, turns);
    }
  }
});

check(
  "a page and the later events give the turns of the log, whatever event comes first",
  (next) => {
    // The panel follows from some event on, and reads the turn that was running again at its end.
    const server = new RandomServer("s", next);
    let state = OPENED;
    let begun = false;
    const start = 1 + Math.floor(next() * 12);
    for (let count = 0; count < 3; count += 1) {
      for (const event of server.turn()) {
        if (!begun) {
          begun = event.seq >= start;
          if (!begun) continue;
          const page = server.page(null, 20);
          state = reduce(state, { type: "page", page, where: "replace", seq: event.seq });
          continue;
        }
        state = reduce(state, eventAction(event));
        const last = state.turns.at(-1);
        if (event.event.type === "turnFinished" && last?.whole === false) {
          const page = server.page(null, 20);
          state = reduce(state, { type: "page", page, where: "replace", seq: event.seq });
        }
      }
    }
    const fromLog = reduce(OPENED, {
      type: "page",
      page: server.page(null, 20),
      where: "replace",
      seq: server.events.length,
    });
    assert.deepEqual(read(state), read(fromLog));
  },
);

check("live events and the log give the same turns", (next) => {
  const server = session(next);
  const live = server.events.map(eventAction).reduce(reduce, OPENED);
  const page = server.page(null, 20);
  const fromLog = reduce(OPENED, { type: "page", page, where: "replace", seq: 0 });
  assert.deepEqual(read(live), read(fromLog));
});

check("older pages add each turn once and in order", (next) => {
  const server = session(next, 9);
  const size = 1 + Math.floor(next() * 4);
  const first = server.page(null, size);
  let state = reduce(OPENED, { type: "page", page: first, where: "replace", seq: 0 });
  while (state.older === "some") {
    state = reduce(state, { type: "olderLoading" });
    const before = state.turns[0]?.number ?? 0;
    // Each answer comes twice, and some answers overlap.
    const overlap = next() < 0.3 ? before + 1 : before;
    const page = server.page(overlap, size + 1);
    state = reduce(state, { type: "page", page, where: "before", seq: 0 });
    state = reduce(state, { type: "page", page, where: "before", seq: 0 });
  }
  const numbers = state.turns.map((turn: Turn) => turn.number);
  assert.deepEqual(numbers, [1, 2, 3, 4, 5, 6, 7, 8, 9]);
});

check("a chunk of text changes only the last part of the last turn", (next) => {
  let state = OPENED;
  for (const event of session(next).events) {
    const before = state;
    state = reduce(state, eventAction(event));
    if (event.event.type !== "text" || event.event.restart) continue;
    assert.deepEqual(
      before.turns.slice(0, -1).map(isUnchangedIn(state)),
      Array(state.turns.length - 1).fill(true),
    );
    const [old, now] = [before.turns.at(-1)?.parts ?? [], state.turns.at(-1)?.parts ?? []];
    for (const [place, part] of old.slice(0, -1).entries()) assert.equal(now[place], part);
    assert.equal(state.questions, before.questions);
    assert.equal(state.queue, before.queue);
  }
});

function isUnchangedIn(state: PanelState): (turn: Turn, place: number) => boolean {
  return (turn, place) => state.turns[place] === turn;
}
