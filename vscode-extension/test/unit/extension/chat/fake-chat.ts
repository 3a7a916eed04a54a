/** The server's answers and the parts of a chat that tests of whole chats share. */
import type { Surroundings } from "../../../../src/extension/chat/chat-core.ts";
import type { Memory } from "../../../../src/extension/chat/ports.ts";
import { RandomServer, random } from "../../shared/state/random-session.ts";
import type { fakeRoom } from "./fake-room.ts";

type Room = ReturnType<typeof fakeRoom>;

/** Lets the room's backend answer for a server that has the session `s` with one turn. */
export function serveSession({ backend }: Room): RandomServer {
  const server = new RandomServer("s", random(7));
  for (const _ of server.turn());
  backend.answer("indwell/queue", () => ({ seq: 0, held: "", waiting: [] }));
  const none = { changes: [], files: 0, added: 0, removed: 0, pending: 0, undo: "" };
  backend.answer("indwell/changes", () => none);
  backend.answer("indwell/session", ({ before = null, limit = 20 }) => server.page(before, limit));
  const resumed = { session: "s", turns: 1, model: "m", draft: "", notices: [] };
  backend.answerCommand("indwell.resume", () => resumed);
  return server;
}

/**
 * The parts of a chat whose callbacks do nothing. The nonces are `nonce-1`, `nonce-2` and so on.
 */
export function chatParts({ backend, clock, ports }: Room, memory: Memory): Surroundings {
  let nonces = 0;
  return {
    backend,
    clock,
    ports: { ...ports, memory },
    post: async () => true,
    nonce: () => {
      nonces += 1;
      return `nonce-${nonces}`;
    },
    log: () => {},
    reveal: () => {},
    askedBehind: () => {},
    firstRun: {
      firstRun: () => {},
      login: () => {},
      connect: async () => {},
      useEditorModels: async () => {},
      manageKeys: async () => {},
    },
  };
}
