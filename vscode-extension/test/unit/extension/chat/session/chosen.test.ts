/** The mode that the user chose, while a new server refuses it. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { ChatCore } from "../../../../../src/extension/chat/chat-core.ts";
import { statusResult } from "../../../fixtures.ts";
import { chatParts, serveSession } from "../fake-chat.ts";
import { fakeRoom, settle } from "../fake-room.ts";

for (const [own, isHeld] of [
  ["auto", true],
  ["plan", false],
] as const) {
  test(`a prompt for mode ask, which the new server in mode ${own} refuses, is ${isHeld ? "returned" : "sent"}`, async () => {
    const room = fakeRoom();
    serveSession(room);
    const { memory } = room.ports;
    memory.set("chosen", { mode: "ask", model: null });
    const { backend, clock } = room;
    const status = { ...statusResult(), mode: own };
    backend.answer("indwell/status", () => ({ ...status, modes: ["plan", "ask", "auto"] }));
    backend.answerCommand("indwell.mode", () => {
      throw new Error("no mode can be set now");
    });
    backend.answer("indwell/prompt", () => new Promise(() => {}));
    const core = new ChatCore({
      ...chatParts(room, memory),
      log: () => undefined,
      reveal: () => undefined,
      askedBehind: () => undefined,
    });
    const started = core.started();
    const send = () => core.bridge.take({ type: "send", text: "look only", how: "auto" });
    await send();
    await started;
    await settle();
    clock.advance(1);
    assert.equal(backend.calls("indwell/prompt").length, isHeld ? 0 : 1);
    assert.equal(core.state.draft.text, isHeld ? "look only" : "");
    if (!isHeld) return;
    assert.match(core.state.banner?.text ?? "", /did not take over the mode ask/);
    await send();
    await settle();
    assert.equal(backend.calls("indwell/prompt").length, 1, "the user has seen the mode");
  });
}
