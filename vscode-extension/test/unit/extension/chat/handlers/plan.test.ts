/** The panel's buttons for a plan and for background commands. */
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
  room.backend.answer("indwell/plan", () => SHOWN).answerCommand("indwell.plan", () => SHOWN);
  const decisions = () =>
    room.backend
      .calls("indwell/plan")
      .filter((one) => Reflect.get(Object(one), "action") !== "show");
  return { ...room, ...planHandlers(room), decisions };
}

test("approving a plan sends the text that the panel shows", async () => {
  const { plan, decisions } = planned();
  await plan({ type: "plan", action: "approve", text: SHOWN.text, words: null });
  assert.deepEqual(decisions(), [{ session: "s", action: "approve", text: SHOWN.text }]);
});

test("approving a plan whose document is open sends no text", async () => {
  const { plan, decisions, backend, ports } = planned();
  await plan({ type: "plan", action: "open", text: null, words: null });
  assert.deepEqual(backend.calls("indwell.plan"), [{ session: "s", action: "open", wait: true }]);
  ports.did.push(`open ${SHOWN.path}`);
  await plan({ type: "plan", action: "approve", text: SHOWN.text, words: null });
  assert.deepEqual(decisions(), [{ session: "s", action: "approve", text: null }]);
});

test("rejecting a plan sends the user's comment", async () => {
  const { plan, decisions } = planned();
  await plan({ type: "plan", action: "reject", text: null, words: "smaller steps" });
  assert.deepEqual(decisions(), [{ session: "s", action: "reject", words: "smaller steps" }]);
});

test("without a session no request is sent", async () => {
  const room = fakeRoom();
  await planHandlers(room).plan({ type: "plan", action: "approve", text: "x", words: null });
  assert.deepEqual(room.backend.requests, []);
});

test("stopping a command updates the list of commands from the server's answer", async () => {
  const room = fakeRoom();
  const { commands } = commandHandlers(room);
  await commands({ type: "commands", stop: "b1" });
  assert.deepEqual(room.backend.requests, []);
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
