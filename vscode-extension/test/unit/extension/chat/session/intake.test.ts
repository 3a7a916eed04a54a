/** The panel gets complete and ordered events of the shown session, even if some are lost. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { Intake } from "../../../../../src/extension/chat/session/intake.ts";
import { Pages } from "../../../../../src/extension/chat/session/pages.ts";
import type { EventParams } from "../../../../../src/protocol.ts";
import { initialState, reduce } from "../../../../../src/shared/state/reducer.ts";
import type { PanelState } from "../../../../../src/shared/state/state.ts";
import { RandomServer, random } from "../../../shared/state/random-session.ts";
import { type FakeBackend, fakeRoom, settle } from "../fake-room.ts";

function intakeOf(room: ReturnType<typeof fakeRoom>): Intake {
  return new Intake(room, new Pages(room), (error) => assert.fail(String(error)));
}

/** Lets the backend answer for `server`, which has only its newest `kept` events. */
function serve(backend: FakeBackend, server: RandomServer, kept = Number.POSITIVE_INFINITY): void {
  backend.answer("indwell/events", ({ after = 0 }) => {
    const oldest = Math.max(1, server.events.length - kept + 1);
    const events = server.events.filter((one) => one.seq > after && one.seq >= oldest);
    const complete = after >= oldest - 1;
    return { session: server.session, events, next: server.events.length, complete };
  });
  backend.answer("indwell/session", ({ before = null, limit = 20 }) => server.page(before, limit));
}

function contentOf(state: PanelState): unknown {
  return state.turns.map((turn) => [
    turn.number,
    turn.words,
    turn.ending,
    turn.parts.flatMap((part) => {
      if (part.kind === "line") return [];
      return part.kind === "tool" ? [`${part.id} ${part.state}`] : [part.text];
    }),
  ]);
}

function contentOfLog(server: RandomServer): unknown {
  const opened = reduce(initialState, { type: "opened", session: server.session });
  const page = server.page(null, 100);
  return contentOf(reduce(opened, { type: "page", page, where: "replace", seq: 0 }));
}

async function playRandomTurns(seed: number, kept: number): Promise<void> {
  const next = random(seed);
  const room = fakeRoom();
  const server = new RandomServer("s", next);
  serve(room.backend, server, kept);
  const intake = intakeOf(room);
  let late: EventParams[] = [];
  for (let count = 0; count < 3; count += 1) {
    for (const event of server.turn()) {
      const isDelta = event.event.type === "text" || event.event.type === "thinking";
      if (isDelta && next() < 0.3) continue; // under load the server omits them
      late.push(event);
      if (next() < 0.5) continue;
      for (const one of late) intake.take(one);
      late = [];
      if (next() < 0.3) await settle();
    }
  }
  for (const one of late) intake.take(one);
  await settle();
  assert.deepEqual(contentOf(room.store.state), contentOfLog(server), `seed ${seed}`);
}

test("omitted events are fetched, so that the turns are complete at the end", async () => {
  for (let seed = 1; seed <= 120; seed += 1) await playRandomTurns(seed, Number.POSITIVE_INFINITY);
});

test("if missed events are gone, pages of the log replace them without repeating text", async () => {
  for (let seed = 1; seed <= 120; seed += 1) await playRandomTurns(seed, 4);
});

test("consecutive pieces of one kind are reduced as one action, and a restart begins another action", () => {
  const room = fakeRoom();
  const intake = intakeOf(room);
  const actions: string[] = [];
  room.store.listen((action) => {
    if (action.type === "event") actions.push(action.event.type);
  });
  const take = (seq: number, event: EventParams["event"]) =>
    intake.take({ session: "s", seq, event });
  const [started] = new RandomServer("s", random(1)).turn();
  if (started === undefined) assert.fail("no turn has started");
  intake.take(started);
  const text = (words: string, restart = false) =>
    ({ type: "text", turn: 1, text: words, restart, agent: "" }) as const;
  take(2, text("a"));
  take(3, text("b"));
  take(3, text("b"));
  take(4, { type: "thinking", turn: 1, text: "c", agent: "" });
  take(5, text("d"));
  take(6, text("", true));
  take(7, text("e"));
  room.clock.advance(15);
  assert.deepEqual(actions, ["turnStarted", "text", "thinking", "text", "text"]);
  assert.equal(room.store.state.seq, 7);
  const parts = room.store.state.turns[0]?.parts ?? [];
  assert.deepEqual(
    parts.map((part) => (part.kind === "tool" ? "" : part.text)),
    ["e"],
  );
});

test("the panel follows another session when its turn begins, and ignores its other events", async () => {
  const room = fakeRoom();
  const intake = intakeOf(room);
  const first = new RandomServer("first", random(1));
  const second = new RandomServer("second", random(2));
  for (const event of first.turn()) intake.take(event);
  assert.equal(room.store.state.session, "first");
  const events = [...second.turn()];
  for (const event of events.slice(1)) intake.take(event);
  assert.equal(room.store.state.session, "first");
  for (const event of events) intake.take(event);
  assert.equal(room.store.state.session, "second");
  assert.deepEqual(contentOf(room.store.state), contentOfLog(second));
});

test("the panel stays with its running turn when another session's turn begins", () => {
  const room = fakeRoom();
  const intake = intakeOf(room);
  const first = [...new RandomServer("first", random(1)).turn()];
  const second = [...new RandomServer("second", random(2)).turn()];
  for (const event of first.slice(0, -1)) intake.take(event);
  for (const event of second) intake.take(event);
  assert.equal(room.store.state.session, "first");
  assert.equal(room.store.state.turns.at(-1)?.ending, "running");
  for (const event of first.slice(-1)) intake.take(event);
  assert.notEqual(room.store.state.turns.at(-1)?.ending, "running");
});

test("a session that is followed from a later turn on also shows its earlier turns", async () => {
  const room = fakeRoom();
  const server = new RandomServer("s", random(3));
  for (const _ of server.turn());
  serve(room.backend, server);
  const intake = intakeOf(room);
  for (const event of server.turn()) {
    intake.take(event);
    await settle();
  }
  assert.deepEqual(contentOf(room.store.state), contentOfLog(server));
});

test("the panel accepts the new event numbers of a restarted server", async () => {
  const room = fakeRoom();
  const server = new RandomServer("s", random(4));
  for (const _ of server.turn());
  serve(room.backend, server);
  const intake = intakeOf(room);
  for (const event of server.events) intake.take(event);
  intake.reset();
  room.store.dispatch({ type: "connection", connection: { kind: "restarting", reason: "" } });
  room.store.dispatch({ type: "connection", connection: { kind: "ready" } });
  await intake.open("s", true);
  server.events.length = 0;
  for (const event of server.turn()) intake.take(event);
  await settle();
  assert.deepEqual(contentOf(room.store.state), contentOfLog(server));
});

test("a late failure of a fetch for an earlier session does not affect the shown session", async () => {
  const room = fakeRoom();
  const failures: unknown[] = [];
  const intake = new Intake(room, new Pages(room), (error) => failures.push(error));
  const [before, shown] = [new RandomServer("before", random(5)), new RandomServer("s", random(6))];
  const fetches: ((error?: Error) => void)[] = [];
  room.backend.answer("indwell/session", ({ before: at = null }) => shown.page(at, 20));
  room.backend.answer("indwell/events", ({ session, after = 0 }) => {
    const events = shown.events.filter((one) => one.seq > after);
    const answer = { session, events, next: shown.events.length, complete: true };
    return new Promise((resolve, reject) =>
      fetches.push((error) => (error === undefined ? resolve(answer) : reject(error))),
    );
  });
  for (const server of [before, shown]) {
    const [started, , ...later] = [...server.turn()]; // the second one is missed
    for (const event of [started, ...later]) if (event !== undefined) intake.take(event);
    await settle();
  }
  const [ofBefore, ofShown] = fetches;
  ofBefore?.(new Error("the server is another one now"));
  await settle();
  ofShown?.();
  await settle();
  assert.deepEqual(contentOf(room.store.state), contentOfLog(shown));
  assert.deepEqual([fetches.length, failures], [2, []]);
});
