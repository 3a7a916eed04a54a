/** A prompt that fails returns its text and its attachments to the composer. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { Sending } from "../../../../../src/extension/chat/handlers/sending.ts";
import type { TurnResult } from "../../../../../src/protocol.ts";
import { withDraft } from "../../../../../src/shared/state/reduce-composer.ts";
import type { Attachment } from "../../../../../src/shared/state/state.ts";
import { RandomServer, random } from "../../../shared/state/random-session.ts";
import { fakeRoom, settle } from "../fake-room.ts";

const DONE: TurnResult = {
  session: "s",
  turn: 1,
  ending: "done",
  message: "",
  answer: "",
  draft: "",
  rounds: 1,
  usage: { input: 0, cached: 0, output: 0, cost: null },
  changes: [],
  verified: "",
};
const PICTURE: Attachment = {
  kind: "image",
  id: "i1",
  label: "screen",
  mime: "image/png",
  data: "aGk=",
};
const MENTION: Attachment = { kind: "mention", id: "m1", label: "a.py", path: "a.py#L1-3" };

class ServerError extends Error {
  readonly code: number;
  readonly data: unknown;
  constructor(message: string, code: number, data?: unknown) {
    super(message);
    this.code = code;
    this.data = data;
  }
}

function sendingIn(room = fakeRoom()) {
  const typed: string[] = [];
  const sending = new Sending(room, { setTyped: (text) => void typed.push(text), went: () => {} });
  return { ...room, typed, sending, ...sending.handlers() };
}

/** Waits for returned prompts, which are collected for a moment. */
async function settleReturned({ clock }: ReturnType<typeof sendingIn>): Promise<void> {
  await settle();
  clock.advance(0);
  await settle();
}

/** Dispatches the start of a turn with the prompt `words`. */
function startTurn(room: ReturnType<typeof sendingIn>, words: string): RandomServer {
  const server = new RandomServer("s", random(1));
  room.store.dispatch({ type: "opened", session: "s" });
  const [first] = server.turn();
  if (first?.event.type !== "turnStarted") assert.fail("no turn has started");
  const event = { ...first.event, words };
  room.store.dispatch({ type: "event", session: "s", seq: 1, event, at: 0 });
  return server;
}

test("a prompt is sent with the user's attachments, which leave the composer", async () => {
  const room = sendingIn();
  for (const attachment of [PICTURE, MENTION]) room.store.dispatch({ type: "attach", attachment });
  room.backend.answer("indwell/prompt", () => DONE);
  await room.send({ type: "send", text: "look", how: "auto" });
  await settleReturned(room);
  assert.deepEqual(room.backend.calls("indwell/prompt"), [
    {
      text: "look",
      session: "new",
      mentions: ["a.py#L1-3"],
      attachments: [{ kind: "image", label: "screen", mime: "image/png", data: "aGk=" }],
    },
  ]);
  assert.deepEqual(room.typed, [""]);
  assert.deepEqual(room.store.state.attachments, []);
  assert.deepEqual(room.store.state.history, ["look"]);
  await settleReturned(room);
  assert.deepEqual(room.store.state.outgoing, []);
});

test("the pictures of a prompt are shown in its turn", async () => {
  const room = sendingIn();
  room.store.dispatch({ type: "attach", attachment: PICTURE });
  room.backend.answer("indwell/prompt", () => new Promise(() => {}));
  await room.send({ type: "send", text: "look", how: "auto" });
  assert.equal(room.store.state.outgoing.length, 1);
  startTurn(room, "look");
  assert.deepEqual(room.store.state.outgoing, []);
  assert.deepEqual(room.store.state.turns[0]?.images, [
    { label: "screen", url: "data:image/png;base64,aGk=" },
  ]);
});

test("a refused prompt returns its text and attachments and shows the server's message", async () => {
  const room = sendingIn();
  room.store.dispatch({ type: "attach", attachment: PICTURE });
  room.backend.answer("indwell/prompt", () => {
    throw new ServerError("coder-large takes no pictures", -32803, { draft: "look" });
  });
  await room.send({ type: "send", text: "look", how: "auto" });
  await settleReturned(room);
  const { draft, attachments, banner, outgoing } = room.store.state;
  assert.deepEqual([draft.text, draft.mode, attachments], ["look", "replace", [PICTURE]]);
  assert.deepEqual(banner, {
    level: "error",
    text: "coder-large takes no pictures.",
    retry: false,
  });
  assert.deepEqual(outgoing, []);
});

test("a prompt whose connection was lost returns without an error message", async () => {
  const room = sendingIn();
  room.backend.answer("indwell/prompt", () => {
    throw new ServerError("Pending response rejected since connection got disposed", -32097);
  });
  await room.send({ type: "send", text: "look", how: "auto" });
  await settleReturned(room);
  assert.equal(room.store.state.draft.text, "look");
  assert.equal(room.store.state.banner, null);
});

test("a prompt that was removed from the queue returns to the composer", async () => {
  const room = sendingIn();
  room.backend.answer("indwell/prompt", () => ({
    ...DONE,
    turn: 0,
    session: null,
    draft: "later",
  }));
  await room.send({ type: "send", text: "later", how: "next" });
  await settleReturned(room);
  assert.equal(room.store.state.draft.text, "later");
  assert.equal(room.store.state.banner, null);
});

test("a rejected request whose turn has begun returns no prompt and shows no error", async () => {
  const room = sendingIn();
  let refuse: (error: unknown) => void = () => {};
  room.backend.answer(
    "indwell/prompt",
    () =>
      new Promise((_, reject) => {
        refuse = reject;
      }),
  );
  await room.send({ type: "send", text: "go", how: "auto" });
  startTurn(room, "go");
  refuse(new ServerError("cancelled", -32800, { draft: "go" }));
  await settleReturned(room);
  assert.equal(room.store.state.draft.id, 0);
  assert.equal(room.store.state.banner, null);
});

test("a turn that failed before its model call returns the attachments", async () => {
  const room = sendingIn();
  room.store.dispatch({ type: "attach", attachment: PICTURE });
  room.backend.answer("indwell/prompt", () => ({ ...DONE, ending: "failed", draft: "look" }));
  await room.send({ type: "send", text: "look", how: "auto" });
  await settleReturned(room);
  assert.deepEqual(room.store.state.attachments, [PICTURE]);
});

test("stop returns a prompt that has not begun, and otherwise cancels the running turn", async () => {
  const room = sendingIn();
  room.backend.answer(
    "indwell/prompt",
    (_, token) =>
      new Promise((_, reject) => {
        token?.onCancellationRequested(() => reject(new ServerError("cancelled", -32800)));
      }),
  );
  room.backend.answerCommand("indwell.cancel", () => true);
  await room.send({ type: "send", text: "wait", how: "auto" });
  await room.stop({ type: "stop" });
  await settleReturned(room);
  assert.equal(room.store.state.draft.text, "wait");
  assert.deepEqual(room.backend.calls("indwell.cancel"), []);
  startTurn(room, "other");
  await room.stop({ type: "stop" });
  assert.deepEqual(room.backend.calls("indwell.cancel"), [{ session: "s" }]);
});

test("stop returns a prompt that waits for its session", async () => {
  const room = sendingIn();
  room.sending.after(new Promise(() => {}));
  await room.send({ type: "send", text: "wait", how: "auto" });
  await room.stop({ type: "stop" });
  await settleReturned(room);
  assert.deepEqual([room.store.state.draft.text, room.backend.requests], ["wait", []]);
  assert.equal(room.store.state.banner, null);
});

test("steering text without a running turn is sent as a prompt", async () => {
  const room = sendingIn();
  room.backend.answer("indwell/prompt", () => DONE);
  await room.send({ type: "send", text: "and this", how: "steer" });
  await settleReturned(room);
  assert.equal(room.backend.calls("indwell/prompt").length, 1);
});

test("steering text that the server refuses returns to the composer", async () => {
  const room = sendingIn();
  startTurn(room, "go");
  room.backend.answer("indwell/steer", () => {
    throw new ServerError("50 messages wait already", -32803, { draft: "and this" });
  });
  await room.send({ type: "send", text: "and this", how: "steer" });
  assert.equal(room.store.state.draft.text, "and this");
  assert.equal(room.store.state.banner?.text, "50 messages wait already.");
});

test("a blank prompt is not sent", async () => {
  const room = sendingIn();
  await room.send({ type: "send", text: "  \n", how: "auto" });
  assert.deepEqual(room.backend.requests, []);
});

test("retrying a failed turn removes its returned text from the composer", async () => {
  const room = sendingIn();
  const server = startTurn(room, "fix it");
  const finished = [...server.turn()].at(-1);
  if (finished?.event.type !== "turnFinished") assert.fail("no turn has ended");
  const event = { ...finished.event, turn: 1, ending: "failed", draft: "fix it" } as const;
  room.store.dispatch({ type: "event", session: "s", seq: 2, event, at: 0 });
  let typed = "";
  let taken = 0;
  const compose = (): void => {
    const { draft } = room.store.state;
    if (draft.id !== taken) typed = withDraft(typed, draft);
    taken = draft.id;
  };
  compose();
  assert.equal(typed, "fix it");
  room.backend.answer("indwell/prompt", () => new Promise(() => {}));
  await room.retry({ type: "retry" });
  await settleReturned(room);
  compose();
  assert.equal(typed, "");
  assert.equal(room.backend.calls("indwell/prompt").length, 1);
});

test("two prompts in a row start one new session, and later prompts go to the shown session", async () => {
  const room = sendingIn();
  room.backend.answer("indwell/prompt", () => new Promise(() => {}));
  await room.send({ type: "send", text: "one", how: "auto" });
  await settleReturned(room);
  await room.send({ type: "send", text: "two", how: "next" });
  await settleReturned(room);
  startTurn(room, "one");
  await room.send({ type: "send", text: "three", how: "next" });
  await settleReturned(room);
  assert.deepEqual(
    room.backend
      .calls("indwell/prompt")
      .map((params) => (params as { readonly session?: string }).session),
    ["new", undefined, "s"],
  );
});

test("prompts that waited when the server was lost return together and in order", async () => {
  const room = sendingIn();
  const refuse: ((error: unknown) => void)[] = [];
  room.backend.answer("indwell/prompt", () => new Promise((_, reject) => void refuse.push(reject)));
  for (const text of ["one", "two", "three"]) await room.send({ type: "send", text, how: "next" });
  await settleReturned(room);
  for (const reject of refuse.toReversed()) reject(new ServerError("disposed", -32097));
  await settleReturned(room);
  assert.deepEqual(
    [room.store.state.draft.id, room.store.state.draft.text],
    [1, "one\n\ntwo\n\nthree"],
  );
  assert.equal(room.store.state.banner, null);
});

test("steering text whose connection was lost returns without an error message", async () => {
  const room = sendingIn();
  startTurn(room, "go");
  room.backend.answer("indwell/steer", () => {
    throw new ServerError("Pending response rejected since connection got disposed", -32097);
  });
  await room.send({ type: "send", text: "and this", how: "steer" });
  assert.deepEqual([room.store.state.draft.text, room.store.state.banner], ["and this", null]);
});

test("a repeated prompt is sent with its own attachments and leaves the draft's attachments", async () => {
  const room = sendingIn();
  room.store.dispatch({ type: "attach", attachment: PICTURE });
  room.backend.answer("indwell/prompt", () => DONE);
  await room.send({ type: "send", text: "look", how: "auto" });
  await settleReturned(room);
  room.store.dispatch({ type: "attach", attachment: MENTION });
  room.sending.again("look", undefined, "look");
  await settleReturned(room);
  const [, second] = room.backend.calls("indwell/prompt");
  assert.deepEqual(second, {
    text: "look",
    session: "new",
    mentions: [],
    attachments: [{ kind: "image", label: "screen", mime: "image/png", data: "aGk=" }],
  });
  assert.deepEqual(room.store.state.attachments, [MENTION]);
});

test("a button's prompt leaves the draft and its attachments and is sent once for two presses", async () => {
  const room = sendingIn();
  room.store.dispatch({ type: "attach", attachment: MENTION });
  room.backend.answer("indwell/prompt", () => new Promise(() => {}));
  for (let press = 0; press < 2; press += 1)
    await room.send({ type: "send", text: "Carry out the plan.", how: "alone" });
  await settleReturned(room);
  const prompt = { text: "Carry out the plan.", session: "new", mentions: [], attachments: [] };
  assert.deepEqual(room.backend.calls("indwell/prompt"), [prompt]);
  assert.deepEqual([room.typed, room.store.state.attachments], [[], [MENTION]]);
});
