/** Batches, back-pressure and snapshots, which keep the webview's state equal to the host's. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { BATCH_MS, MOST_WAITING, Outbox } from "../../../../../src/extension/chat/panel/outbox.ts";
import { Store } from "../../../../../src/extension/chat/room.ts";
import type { ToPanel } from "../../../../../src/shared/messages.ts";
import type { Action } from "../../../../../src/shared/state/action.ts";
import type { PanelState } from "../../../../../src/shared/state/state.ts";
import { HostChannel } from "../../../../../src/webview/host/channel.ts";
import { RandomServer, random } from "../../../shared/state/random-session.ts";
import { FakeClock, settle } from "../fake-room.ts";

function makeOutbox(taken: () => Promise<unknown> = async () => true) {
  const clock = new FakeClock();
  const store = new Store();
  const posted: ToPanel[] = [];
  const post = (message: ToPanel) => {
    posted.push(structuredClone(message));
    return taken();
  };
  const outbox = new Outbox(post, clock, () => ({ state: store.state, typed: "" }));
  store.listen((action, state) => outbox.add(action, state.revision));
  return { clock, store, posted, outbox };
}

function note(text: string): Action {
  return { type: "banner", banner: { level: "info", text, retry: false } };
}

test("UI-13 ten thousand actions in a second are sent in at most 31 batches", async () => {
  const { clock, store, posted, outbox } = makeOutbox();
  outbox.ready();
  await settle();
  for (let count = 0; count < 10_000; count += 1) {
    store.dispatch(note(String(count)));
    if (count % 10 === 9) {
      clock.advance(1);
      await settle();
    }
  }
  clock.advance(BATCH_MS);
  const batches = posted.filter((one) => one.type === "actions");
  assert.ok(batches.length <= 1000 / BATCH_MS + 1, `${batches.length} batches`);
  const actions = batches.flatMap((one) => (one.type === "actions" ? one.actions : []));
  assert.equal(actions.length, 10_000);
});

test("a hidden webview gets no messages, and gets a snapshot when it is shown again", async () => {
  const { clock, store, posted, outbox } = makeOutbox();
  outbox.ready();
  await settle();
  outbox.hidden();
  for (let count = 0; count < 5000; count += 1) store.dispatch(note("hidden"));
  clock.advance(1000);
  assert.equal(posted.length, 1);
  outbox.ready();
  const last = posted.at(-1);
  assert.equal(last?.type === "snapshot" && last.state.revision, store.state.revision);
});

test("a webview that is slow to take messages gets a snapshot instead of a backlog", async () => {
  let release: () => void = () => {};
  const stuck = () => new Promise<void>((resolve) => (release = resolve));
  const { clock, store, posted, outbox } = makeOutbox(stuck);
  outbox.ready();
  for (let count = 0; count < 3 * MOST_WAITING; count += 1) {
    store.dispatch(note("flood"));
    clock.advance(0.1);
  }
  assert.equal(posted.length, 1);
  release();
  await settle();
  clock.advance(BATCH_MS);
  assert.deepEqual(
    posted.map((one) => one.type),
    ["snapshot", "snapshot"],
  );
});

test("after random actions, hiding and reloads the webview's state equals the host's", async () => {
  for (let seed = 1; seed <= 60; seed += 1) {
    const next = random(seed);
    const clock = new FakeClock();
    const store = new Store();
    let take: (message: unknown) => void = () => {};
    const lost = next() < 0.3; // a webview that misses a batch asks for a snapshot
    const post = async (message: ToPanel) => {
      if (!(lost && message.type === "actions" && next() < 0.2)) take(structuredClone(message));
      return true;
    };
    const outbox = new Outbox(post, clock, () => ({ state: store.state, typed: "" }));
    store.listen((action, state) => outbox.add(action, state.revision));
    let shown: PanelState | null = null;
    const reload = (): void => {
      const channel = new HostChannel(
        {
          send: (message) => {
            if (message.type === "ready") outbox.ready();
          },
          receive: (taken) => {
            take = taken;
          },
        },
        (state) => {
          shown = state;
        },
      );
      channel.begin();
    };
    reload();
    store.dispatch({ type: "opened", session: "s" });
    const server = new RandomServer("s", next);
    for (let count = 0; count < 2; count += 1) {
      for (const { session, seq, event } of server.turn()) {
        store.dispatch({ type: "event", session, seq, event, at: seq });
        if (next() < 0.1) {
          outbox.hidden();
          reload();
        }
        if (next() < 0.3) clock.advance(Math.floor(next() * 60));
        if (next() < 0.3) await settle();
      }
    }
    for (let round = 0; round < 5; round += 1) {
      // A webview that missed the last batch notices it at the next one.
      store.dispatch(note(`end ${round}`));
      for (let wait = 0; wait < 3; wait += 1) {
        await settle();
        clock.advance(100);
      }
    }
    if (!lost) assert.deepEqual(shown, JSON.parse(JSON.stringify(store.state)), `seed ${seed}`);
    else {
      reload();
      assert.deepEqual(shown, JSON.parse(JSON.stringify(store.state)), `seed ${seed}`);
    }
  }
});

test("a page draws its embedded state and then gets newer actions, or a snapshot if it is outdated", async () => {
  for (const isLate of [false, true]) {
    const { clock, store, posted, outbox } = makeOutbox();
    store.dispatch(note("before"));
    const { first } = outbox;
    if (isLate) store.dispatch(note("while the page loads"));
    const drawn: (string | undefined)[] = [];
    const wire = {
      send: (message: { readonly type: string; readonly at?: number }) => {
        if (message.type === "ready") outbox.ready(message.at);
      },
      receive: () => {},
    };
    new HostChannel(wire, (state) => drawn.push(state.banner?.text)).beginWith(first);
    assert.deepEqual(drawn, ["before"]);
    await settle();
    store.dispatch(note("after"));
    clock.advance(BATCH_MS);
    const types = posted.map((one) => one.type);
    assert.deepEqual(types, isLate ? ["snapshot", "actions"] : ["actions"]);
  }
});

test("a state that is too long is not embedded in the page", () => {
  const { store, outbox } = makeOutbox();
  store.dispatch(note("x".repeat(500_000)));
  assert.equal(outbox.first, "");
});
