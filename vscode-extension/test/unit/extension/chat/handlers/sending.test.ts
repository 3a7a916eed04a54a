/** Whatever goes wrong with a prompt, its words and what went with it are not lost. */
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

class Refused extends Error {
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

/** What comes back is gathered for a moment. */
async function rest({ clock }: ReturnType<typeof sendingIn>): Promise<void> {
  await settle();
  clock.advance(0);
  await settle();
}

/** The events of one turn, as if the server ran it. */
function begin(room: ReturnType<typeof sendingIn>, words: string): RandomServer {
  const server = new RandomServer("s", random(1));
  room.store.dispatch({ type: "opened", session: "s" });
  const [first] = server.turn();
  if (first?.event.type !== "turnStarted") assert.fail("a turn begins");
  const event = { ...first.event, words };
  room.store.dispatch({ type: "event", session: "s", seq: 1, event, at: 0 });
  return server;
}

test("a prompt takes the user's own attachments along, and they leave the composer", async () => {
  const room = sendingIn();
  for (const attachment of [PICTURE, MENTION]) room.store.dispatch({ type: "attach", attachment });
  room.backend.answer("indwell/prompt", () => DONE);
  await room.send({ type: "send", text: "look", how: "auto" });
  await rest(room);
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
  await rest(room);
  assert.deepEqual(room.store.state.outgoing, []);
});

test("pictures are shown with the turn that their prompt became", async () => {
  const room = sendingIn();
  room.store.dispatch({ type: "attach", attachment: PICTURE });
  room.backend.answer("indwell/prompt", () => new Promise(() => {}));
  await room.send({ type: "send", text: "look", how: "auto" });
  assert.equal(room.store.state.outgoing.length, 1);
  begin(room, "look");
  assert.deepEqual(room.store.state.outgoing, []);
  assert.deepEqual(room.store.state.turns[0]?.images, [
    { label: "screen", url: "data:image/png;base64,aGk=" },
  ]);
});

test("a prompt that is refused gives words and attachments back, with the server's sentence", async () => {
  const room = sendingIn();
  room.store.dispatch({ type: "attach", attachment: PICTURE });
  room.backend.answer("indwell/prompt", () => {
    throw new Refused("coder-large takes no pictures", -32803, { draft: "look" });
  });
  await room.send({ type: "send", text: "look", how: "auto" });
  await rest(room);
  const { draft, attachments, banner, outgoing } = room.store.state;
  assert.deepEqual([draft.text, draft.mode, attachments], ["look", "replace", [PICTURE]]);
  assert.deepEqual(banner, {
    level: "error",
    text: "coder-large takes no pictures.",
    retry: false,
  });
  assert.deepEqual(outgoing, []);
});

test("of a server that is gone the words come back without a second complaint", async () => {
  const room = sendingIn();
  room.backend.answer("indwell/prompt", () => {
    throw new Refused("Pending response rejected since connection got disposed", -32097);
  });
  await room.send({ type: "send", text: "look", how: "auto" });
  await rest(room);
  assert.equal(room.store.state.draft.text, "look");
  assert.equal(room.store.state.banner, null);
});

test("a prompt that was taken out of the queue comes back", async () => {
  const room = sendingIn();
  room.backend.answer("indwell/prompt", () => ({
    ...DONE,
    turn: 0,
    session: null,
    draft: "later",
  }));
  await room.send({ type: "send", text: "later", how: "next" });
  await rest(room);
  assert.equal(room.store.state.draft.text, "later");
  assert.equal(room.store.state.banner, null);
});

test("of a turn that has begun the events tell the end: nothing comes back twice", async () => {
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
  begin(room, "go");
  refuse(new Refused("cancelled", -32800, { draft: "go" }));
  await rest(room);
  assert.equal(room.store.state.draft.id, 0);
  assert.equal(room.store.state.banner, null);
});

test("of a turn that failed before the model heard it the attachments come back too", async () => {
  const room = sendingIn();
  room.store.dispatch({ type: "attach", attachment: PICTURE });
  room.backend.answer("indwell/prompt", () => ({ ...DONE, ending: "failed", draft: "look" }));
  await room.send({ type: "send", text: "look", how: "auto" });
  await rest(room);
  assert.deepEqual(room.store.state.attachments, [PICTURE]);
});

test("stop takes a prompt back that has not begun, else the running turn", async () => {
  const room = sendingIn();
  room.backend.answer(
    "indwell/prompt",
    (_, token) =>
      new Promise((_, reject) => {
        token?.onCancellationRequested(() => reject(new Refused("cancelled", -32800)));
      }),
  );
  room.backend.obey("indwell.cancel", () => true);
  await room.send({ type: "send", text: "wait", how: "auto" });
  await room.stop({ type: "stop" });
  await rest(room);
  assert.equal(room.store.state.draft.text, "wait");
  assert.deepEqual(room.backend.calls("indwell.cancel"), []);
  begin(room, "other");
  await room.stop({ type: "stop" });
  assert.deepEqual(room.backend.calls("indwell.cancel"), [{ session: "s" }]);
});

test("stop takes a prompt back that still waits for its session", async () => {
  const room = sendingIn();
  room.sending.after(new Promise(() => {}));
  await room.send({ type: "send", text: "wait", how: "auto" });
  await room.stop({ type: "stop" });
  await rest(room);
  assert.deepEqual([room.store.state.draft.text, room.backend.asked], ["wait", []]);
  assert.equal(room.store.state.banner, null);
});

test("words for a turn that has ended meanwhile become a prompt", async () => {
  const room = sendingIn();
  room.backend.answer("indwell/prompt", () => DONE);
  await room.send({ type: "send", text: "and this", how: "steer" });
  await rest(room);
  assert.equal(room.backend.calls("indwell/prompt").length, 1);
});

test("words that a running turn does not take come back", async () => {
  const room = sendingIn();
  begin(room, "go");
  room.backend.answer("indwell/steer", () => {
    throw new Refused("50 messages wait already", -32803, { draft: "and this" });
  });
  await room.send({ type: "send", text: "and this", how: "steer" });
  assert.equal(room.store.state.draft.text, "and this");
  assert.equal(room.store.state.banner?.text, "50 messages wait already.");
});

test("nothing at all is not sent", async () => {
  const room = sendingIn();
  await room.send({ type: "send", text: "  \n", how: "auto" });
  assert.deepEqual(room.backend.asked, []);
});

test("a failed turn that is tried again takes its words out of the composer, where they came back", async () => {
  const room = sendingIn();
  const server = begin(room, "fix it");
  const finished = [...server.turn()].at(-1);
  if (finished?.event.type !== "turnFinished") assert.fail("a turn ends");
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
  await rest(room);
  compose();
  assert.equal(typed, "");
  assert.equal(room.backend.calls("indwell/prompt").length, 1);
});

test("two prompts behind each other begin one new session, not two; later ones go to the session shown", async () => {
  const room = sendingIn();
  room.backend.answer("indwell/prompt", () => new Promise(() => {}));
  await room.send({ type: "send", text: "one", how: "auto" });
  await rest(room);
  await room.send({ type: "send", text: "two", how: "next" });
  await rest(room);
  begin(room, "one");
  await room.send({ type: "send", text: "three", how: "next" });
  await rest(room);
  assert.deepEqual(
    room.backend
      .calls("indwell/prompt")
      .map((params) => (params as { readonly session?: string }).session),
    ["new", undefined, "s"],
  );
});

test("what waited for a server that goes comes back at once and in order", async () => {
  const room = sendingIn();
  const refuse: ((error: unknown) => void)[] = [];
  room.backend.answer("indwell/prompt", () => new Promise((_, reject) => void refuse.push(reject)));
  for (const text of ["one", "two", "three"]) await room.send({ type: "send", text, how: "next" });
  await rest(room);
  for (const reject of refuse.toReversed()) reject(new Refused("disposed", -32097));
  await rest(room);
  assert.deepEqual(
    [room.store.state.draft.id, room.store.state.draft.text],
    [1, "one\n\ntwo\n\nthree"],
  );
  assert.equal(room.store.state.banner, null);
});

test("words for a turn of a server that goes come back without a complaint", async () => {
  const room = sendingIn();
  begin(room, "go");
  room.backend.answer("indwell/steer", () => {
    throw new Refused("Pending response rejected since connection got disposed", -32097);
  });
  await room.send({ type: "send", text: "and this", how: "steer" });
  assert.deepEqual([room.store.state.draft.text, room.store.state.banner], ["and this", null]);
});

test("a turn that is tried again takes its own attachments along, and leaves the draft's", async () => {
  const room = sendingIn();
  room.store.dispatch({ type: "attach", attachment: PICTURE });
  room.backend.answer("indwell/prompt", () => DONE);
  await room.send({ type: "send", text: "look", how: "auto" });
  await rest(room);
  room.store.dispatch({ type: "attach", attachment: MENTION });
  room.sending.again("look", undefined, "look");
  await rest(room);
  const [, second] = room.backend.calls("indwell/prompt");
  assert.deepEqual(second, {
    text: "look",
    session: "new",
    mentions: [],
    attachments: [{ kind: "image", label: "screen", mime: "image/png", data: "aGk=" }],
  });
  assert.deepEqual(room.store.state.attachments, [MENTION]);
});

test("words of a button leave the draft and its attachments, and go out once", async () => {
  const room = sendingIn();
  room.store.dispatch({ type: "attach", attachment: MENTION });
  room.backend.answer("indwell/prompt", () => new Promise(() => {}));
  for (let press = 0; press < 2; press += 1)
    await room.send({ type: "send", text: "Carry out the plan.", how: "alone" });
  await rest(room);
  const prompt = { text: "Carry out the plan.", session: "new", mentions: [], attachments: [] };
  assert.deepEqual(room.backend.calls("indwell/prompt"), [prompt]);
  assert.deepEqual([room.typed, room.store.state.attachments], [[], [MENTION]]);
});
