/** Fakes of the server, the editor and the clock. */

import type { Backend, Token } from "../../../../src/extension/chat/backend.ts";
import type {
  Applied,
  CodeTarget,
  MayChange,
  Ports,
  Put,
} from "../../../../src/extension/chat/ports.ts";
import { Store } from "../../../../src/extension/chat/room.ts";
import { SessionBoard } from "../../../../src/extension/chat/session/board.ts";
import type { Clock } from "../../../../src/extension/clock.ts";
import type { Commands, ServerRequests } from "../../../../src/protocol.ts";

/** A clock that only the test advances. */
export class FakeClock implements Clock {
  #now = 1000;
  #waiting: { readonly at: number; readonly run: () => void }[] = [];

  now(): number {
    return this.#now;
  }

  after(ms: number, run: () => void): () => void {
    const entry = { at: this.#now + ms, run };
    this.#waiting.push(entry);
    return () => {
      this.#waiting = this.#waiting.filter((one) => one !== entry);
    };
  }

  /** Advances by `ms` and runs the callbacks that are due, in order. */
  advance(ms: number): void {
    const end = this.#now + ms;
    for (;;) {
      const due = this.#waiting.filter((one) => one.at <= end).sort((a, b) => a.at - b.at)[0];
      if (due === undefined) break;
      this.#waiting = this.#waiting.filter((one) => one !== due);
      this.#now = Math.max(this.#now, due.at);
      due.run();
    }
    this.#now = end;
  }
}

/** Lets pending promises continue. */
export async function settle(): Promise<void> {
  for (let turn = 0; turn < 20; turn += 1) await Promise.resolve();
}

type Name = keyof ServerRequests | keyof Commands;
type Answer = (params: never, token: Token | undefined) => unknown;

/**
 * Gives the answers that a test set, and records the requests. A request without an answer fails.
 */
export class FakeBackend implements Backend {
  readonly requests: { readonly name: Name; readonly params: unknown }[] = [];
  readonly #answers = new Map<Name, Answer>();

  /** Sets the answer to the request `name`. An error that `answer` throws rejects the request. */
  answer<M extends keyof ServerRequests>(
    name: M,
    answer: (
      params: ServerRequests[M]["params"],
      token: Token | undefined,
    ) => ServerRequests[M]["result"] | Promise<ServerRequests[M]["result"]>,
  ): this {
    this.#answers.set(name, answer as Answer);
    return this;
  }

  /** Sets the result of the command `name` in the same way. */
  answerCommand<C extends keyof Commands>(
    name: C,
    answer: (
      argument: Commands[C]["argument"],
    ) => Commands[C]["result"] | Promise<Commands[C]["result"]>,
  ): this {
    this.#answers.set(name, answer as Answer);
    return this;
  }

  /** The params of all calls of `name`. */
  calls(name: Name): readonly unknown[] {
    return this.requests.filter((one) => one.name === name).map((one) => one.params);
  }

  request<M extends keyof ServerRequests>(
    method: M,
    params: ServerRequests[M]["params"],
    token?: Token,
  ): Promise<ServerRequests[M]["result"]> {
    return this.#call(method, params, token);
  }

  execute<C extends keyof Commands>(
    command: C,
    argument: Commands[C]["argument"],
  ): Promise<Commands[C]["result"]> {
    return this.#call(command, argument, undefined);
  }

  async #call<Result>(name: Name, params: unknown, token: Token | undefined): Promise<Result> {
    this.requests.push({ name, params });
    const answer = this.#answers.get(name);
    if (answer === undefined) throw new Error(`no answer is set for ${name}`);
    return (await answer(params as never, token)) as Result;
  }
}

/** An editor that records its calls in `did`. `chosen` returns the answer to each dialog. */
export function fakePorts(
  chosen: () => string | null = () => null,
): Ports & { readonly did: string[]; target: CodeTarget; applied: Applied | null } {
  const did: string[] = [];
  const memory = new Map<string, unknown>();
  const note = async (what: string): Promise<void> => void did.push(what);
  const put = async (what: string, mayChange: MayChange): Promise<Put> => {
    if (!(await mayChange(ports.target))) return "refused";
    did.push(what);
    return "applied";
  };
  const ports: ReturnType<typeof fakePorts> = {
    did,
    /** The document that gets the code. */
    target: { name: "src/a.py", paths: ["src/a.py"], isActive: true },
    applied: null,
    dialogs: {
      confirm: async (words) => {
        did.push(`confirm ${words}`);
        return chosen();
      },
      pick: async () => chosen(),
      say: (words) => void did.push(`say ${words}`),
    },
    documents: {
      open: ({ path, first, last }) => note(`open ${path} ${first} ${last}`),
      isOpen: (path) => did.includes(`open ${path}`),
      locate: async (path) => `file:///ws/${path}`,
      showReadOnly: (title, text, key) =>
        note(`show ${key === undefined ? "" : `${key} as `}${title}: ${text}`),
      read: async (uri) => `text of ${uri}`,
      save: async (name) => {
        did.push(`save ${name}`);
        return true;
      },
      insert: (text, mayChange) => put(`insert ${text}`, mayChange),
      apply: async (text, place, mayChange) =>
        ports.applied ?? put(`apply ${text} to ${place?.path ?? null}`, mayChange),
    },
    colouring: { colour: async () => null },
    finding: {
      find: async () => [],
      mentions: async () => [],
      terminal: async () => "output",
      lastCommand: () => ({ label: "Terminal: make (exit code 2)", text: "$ make" }),
      selection: () => ({ kind: "mention", value: "a.py#L1-3", label: "a.py:1-3" }),
    },
    shell: {
      run: (command) => note(`run ${command}`),
      copy: (text) => note(`copy ${text}`),
      openExternal: async (href) => {
        did.push(`browse ${href}`);
        return true;
      },
    },
    memory: {
      get: (key) => memory.get(key),
      // A window's storage converts values to JSON, too.
      set: (key, value) => {
        memory.set(key, JSON.parse(JSON.stringify(value)));
        return undefined;
      },
    },
  };
  return ports;
}

/** A room for handlers, with a ready connection. */
export function fakeRoom(chosen?: () => string | null) {
  const store = new Store();
  store.dispatch({ type: "connection", connection: { kind: "ready" } });
  const board = new SessionBoard(
    (session) => session === store.state.session,
    (marks) => store.dispatch({ type: "marks", marks }),
  );
  return {
    store,
    board,
    backend: new FakeBackend(),
    ports: fakePorts(chosen),
    clock: new FakeClock(),
  };
}
