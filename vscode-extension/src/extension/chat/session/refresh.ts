/** Refreshes state that the server sends only on request: status, queue, pending changes, the next request. */
import type { EventParams } from "../../../protocol.ts";
import { type Clock, debounced } from "../../clock.ts";
import type { Room } from "../room.ts";

type Part = "status" | "queue" | "changes" | "commands" | "context" | "models";

/**
 * The name in requests for a session that has not begun; the server never has an open session of
 * this name.
 */
const NEW = "new";

/** Milliseconds for which changes are collected before they are requested. */
const REST_MS: Readonly<Record<Part, number>> = {
  status: 50,
  queue: 50,
  changes: 80,
  commands: 80,
  context: 250,
  models: 300,
};

export class Refresh {
  readonly #room: Pick<Room, "store" | "backend" | "tab">;
  readonly #failed: (error: unknown) => void;
  readonly #parts: Readonly<Record<Part, { (): void; dispose(): void }>>;

  constructor(
    room: Pick<Room, "store" | "backend" | "tab"> & { readonly clock: Clock },
    failed: (error: unknown) => void,
  ) {
    this.#room = room;
    this.#failed = failed;
    const part = (name: Part) =>
      debounced(room.clock, REST_MS[name], () => void this.now(name).catch(this.#failed));
    this.#parts = {
      status: part("status"),
      queue: part("queue"),
      changes: part("changes"),
      commands: part("commands"),
      context: part("context"),
      models: part("models"),
    };
  }

  /** Requests a part soon; several calls become one request. */
  soon(...parts: readonly Part[]): void {
    for (const name of parts) this.#parts[name]();
  }

  /** Requests a part at once. */
  async now(part: Part): Promise<void> {
    const { store, backend } = this.#room;
    if (store.state.connection.kind !== "ready") return;
    switch (part) {
      case "status":
        await this.#status();
        return;
      case "queue":
        store.dispatch({ type: "queue", queue: await backend.request("indwell/queue", {}) });
        return;
      case "changes":
        store.dispatch({ type: "changes", changes: await backend.request("indwell/changes", {}) });
        return;
      case "commands": {
        const { session } = store.state;
        if (session === null) return;
        const { commands } = await backend.request("indwell/commands", { session });
        store.dispatch({ type: "commands", session, commands });
        return;
      }
      case "context":
        store.dispatch({
          type: "context",
          context: await backend.request("indwell/context", this.#named()),
        });
        return;
      case "models": {
        if (store.state.status?.lacking) return; // No server can be asked.
        const { models } = await backend.request("indwell/models", {});
        store.dispatch({ type: "models", models });
        return;
      }
      default:
        part satisfies never;
    }
  }

  /** Requests the state that an event of any session makes outdated. */
  heard({ event, session }: EventParams): void {
    switch (event.type) {
      case "hunksChanged":
        this.soon("changes");
        return;
      case "turnStarted":
        this.soon("status", "queue", "context");
        return;
      case "turnFinished":
        this.soon("status", "queue", "changes", "context");
        return;
      case "queueChanged":
        // The event lacks the chips and sessions of rows, and events of other sessions are not reduced.
        if (event.waiting.length > 0 || session !== this.#room.store.state.session) {
          this.soon("queue");
        }
        return;
      case "compacted":
        this.soon("context");
        return;
      default:
        return;
    }
  }

  /**
   * Returns the session to name in a request: a tab's own session, or none for the panel, which
   * shows the current session.
   */
  #named(): { readonly session?: string } {
    const { session } = this.#room.store.state;
    return this.#room.tab === undefined ? {} : { session: session ?? NEW };
  }

  async #status(): Promise<void> {
    const { store, backend, tab } = this.#room;
    const status = await backend.request("indwell/status", this.#named());
    if (tab === undefined) store.dispatch({ type: "status", status });
    else {
      const session = status.session === NEW ? null : status.session;
      // An answer about an earlier session of the tab is not used.
      if (session !== store.state.session) return;
      const mode = tab.mode ?? status.mode;
      store.dispatch({ type: "status", status: { ...status, session, mode } });
    }
  }

  dispose(): void {
    for (const part of Object.values(this.#parts)) part.dispose();
  }
}
