/** What becomes of a plan, and of a background command, by the panel's buttons. */
import assert from "node:assert/strict";
import { test } from "node:test";
import {
  commandHandlers,
  planHandlers,
} from "../../../../../src/extension/chat/handlers/actions.ts";
import { fakeRoom } from "../fake-room.ts";

const SHOWN = { state: "proposed", text: "1. do it", path: "/state/plan.md" } as const;

function planned() {
  const room = fakeRoom();
  room.store.dispatch({ type: "opened", session: "s" });
  room.backend.answer("indwell/plan", () => SHOWN).obey("indwell.plan", () => SHOWN);
  const said = () =>
    room.backend
      .calls("indwell/plan")
      .filter((one) => Reflect.get(Object(one), "action") !== "show");
  return { ...room, ...planHandlers(room), said };
}

test("the plan is approved as it stood on the screen", async () => {
  const { plan, said } = planned();
  await plan({ type: "plan", action: "approve", text: SHOWN.text, words: null });
  assert.deepEqual(said(), [{ session: "s", action: "approve", text: SHOWN.text }]);
});

test("while its document is open, what stands there is the plan", async () => {
  const { plan, said, backend, ports } = planned();
  await plan({ type: "plan", action: "open", text: null, words: null });
  assert.deepEqual(backend.calls("indwell.plan"), [{ session: "s", action: "open", wait: true }]);
  ports.did.push(`open ${SHOWN.path}`);
  await plan({ type: "plan", action: "approve", text: SHOWN.text, words: null });
  assert.deepEqual(said(), [{ session: "s", action: "approve", text: null }]);
});

test("a plan is rejected with the user's words", async () => {
  const { plan, said } = planned();
  await plan({ type: "plan", action: "reject", text: null, words: "smaller steps" });
  assert.deepEqual(said(), [{ session: "s", action: "reject", words: "smaller steps" }]);
});

test("without a session nothing is asked of the server", async () => {
  const room = fakeRoom();
  await planHandlers(room).plan({ type: "plan", action: "approve", text: "x", words: null });
  assert.deepEqual(room.backend.asked, []);
});

test("a command is stopped, and the list is the one of then", async () => {
  const room = fakeRoom();
  const { commands } = commandHandlers(room);
  await commands({ type: "commands", stop: "b1" });
  assert.deepEqual(room.backend.asked, []);
  room.store.dispatch({ type: "opened", session: "s" });
  const one = {
    id: "b1",
    command: "npm run dev",
    state: "stopped",
    exitCode: null,
    seconds: 1,
    tail: "",
    path: "",
    by: "user",
  } as const;
  room.backend.answer("indwell/commands", () => ({ session: "s", commands: [one] }));
  await commands({ type: "commands", stop: "b1" });
  assert.deepEqual(room.backend.calls("indwell/commands"), [{ session: "s", stop: "b1" }]);
  assert.deepEqual(room.store.state.commands, [one]);
});
