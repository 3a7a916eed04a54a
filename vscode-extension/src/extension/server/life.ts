/**
 * Manages the server's life: one process at a time, restarted when it ends by itself, with ordered
 * starts and stops. Independent of VS Code and of processes.
 */
import { t } from "../../shared/l10n.ts";
import type { ServerState } from "./state.ts";

/** After `MOST` crashes within this many milliseconds, the server is not restarted. */
export const WITHIN_MS = 3 * 60 * 1000;

/** The number of crashes within `WITHIN_MS` after which the server is not restarted. */
export const MOST = 5;

const FIRST_WAIT_MS = 500;
const LONGEST_WAIT_MS = 8000;

/** The times of the crashes, oldest first, in milliseconds. */
type Crashes = readonly number[];

/** The reaction to another crash. */
type AfterCrash =
  | {
      readonly kind: "again";
      readonly crashes: Crashes;
      readonly waitMs: number;
      readonly attempt: number;
    }
  | { readonly kind: "stay down"; readonly crashes: Crashes };

/** Counts a crash at `now` and returns the reaction; the wait doubles from half a second to eight. */
export function afterCrash(earlier: Crashes, now: number): AfterCrash {
  const crashes = [...earlier.filter((at) => now - at < WITHIN_MS), now];
  if (crashes.length >= MOST) return { kind: "stay down", crashes };
  const waitMs = Math.min(FIRST_WAIT_MS * 2 ** (crashes.length - 1), LONGEST_WAIT_MS);
  return { kind: "again", crashes, waitMs, attempt: crashes.length };
}

/** A process that answers. */
export interface Run<Client> {
  readonly client: Client;
  readonly version: string;
  /** Ends the process within two seconds; never rejects. */
  stop(): Promise<void>;
}

/** Callbacks of a process while it starts and runs. */
export interface Reports {
  /** Called with one sentence for the user about the current step. */
  readonly step: (sentence: string) => void;
  /**
   * Called if the process ended by itself; `reason` is a sentence for the log. May be called before
   * `launch` rejects.
   */
  readonly ended: (reason: string) => void;
}

/** Starts a process; rejects with `CannotStart` if another automatic attempt would be useless. */
export type Launch<Client> = (reports: Reports, signal: AbortSignal) => Promise<Run<Client>>;

/** The reason why no server can be started here; the message is for the user. */
export class CannotStart extends Error {
  override readonly name = "CannotStart";
}

/** The clock, replaceable in tests. */
export interface Clock {
  /** The current time in milliseconds. */
  now(): number;
  /** Calls `call` after `ms` milliseconds, unless the returned function was called before. */
  after(ms: number, call: () => void): () => void;
}

const STAYS_DOWN = t(
  "The server ended by itself {0} times within three minutes. The log says more.",
  MOST,
);
const STOPPED = t("The server was stopped.");

/** Keeps one server, or none. All methods may be called at any time, in any order. */
export class Life<Client> {
  readonly #launch: Launch<Client>;
  readonly #changed: (state: ServerState) => void;
  readonly #clock: Clock;
  #state: ServerState = { kind: "off", reason: "" };
  #run: Run<Client> | undefined;
  #starting: Promise<Client> | undefined;
  #abort = new AbortController();
  #order: Promise<unknown> = Promise.resolve();
  #crashes: Crashes = [];
  #forget: () => void = () => {};
  #isOver = false;

  constructor(launch: Launch<Client>, changed: (state: ServerState) => void, clock: Clock) {
    this.#launch = launch;
    this.#changed = changed;
    this.#clock = clock;
  }

  get state(): ServerState {
    return this.#state;
  }

  /** The client of the running process. */
  get client(): Client | undefined {
    return this.#run?.client;
  }

  /** Returns the running client; starts a server if none runs, or waits for a starting one. */
  start(): Promise<Client> {
    if (this.#run !== undefined) return Promise.resolve(this.#run.client);
    if (this.#starting !== undefined) return this.#starting;
    const abort = new AbortController();
    this.#abort = abort;
    const starting = this.#inOrder(() => this.#startNow(abort.signal)).finally(() => {
      if (this.#starting === starting) this.#starting = undefined;
    });
    this.#starting = starting;
    return starting;
  }

  /** Restarts the server, whether or not it runs; earlier crashes no longer count. */
  async restart(): Promise<void> {
    await this.#end({ kind: "starting", step: t("Restarting the server") });
    this.#crashes = [];
    await this.start();
  }

  /** Ends a running or starting server, which stays stopped for `reason`. */
  async stop(reason = STOPPED): Promise<void> {
    if (this.#state.kind === "stopped") await this.#end(this.#state);
    else await this.#end({ kind: "stopped", reason, crashed: false });
  }

  /** Stops a running or starting server; `state` is kept until the next request. */
  #end(state: ServerState): Promise<void> {
    this.#forget();
    this.#abort.abort();
    const running = this.#run;
    this.#run = undefined; // From now on, any request starts another server.
    this.#starting = undefined;
    // The state is reported at once, so that no caller believes that the stopping server still
    // runs.
    if (this.#state !== state) this.#set(state);
    return this.#inOrder(async () => {
      await running?.stop();
    });
  }

  /** Stops the running server; no server can be started afterwards. */
  async dispose(): Promise<void> {
    this.#isOver = true;
    await this.stop();
  }

  #inOrder<Result>(work: () => Promise<Result>): Promise<Result> {
    const done = this.#order.then(work);
    this.#order = done.catch(() => {});
    return done;
  }

  async #startNow(signal: AbortSignal): Promise<Client> {
    if (this.#isOver) throw new CannotStart(t("The window is closing."));
    if (signal.aborted) throw new CannotStart(STOPPED);
    this.#forget();
    this.#set({ kind: "starting", step: t("Starting the server") });
    let isUp = false;
    let endedWith: string | undefined;
    const reports: Reports = {
      step: (step) => {
        if (!isUp && !signal.aborted) this.#set({ kind: "starting", step });
      },
      ended: (reason) => {
        if (endedWith !== undefined) return;
        endedWith = reason;
        if (isUp && !signal.aborted) this.#crashed();
      },
    };
    try {
      const run = await this.#launch(reports, signal);
      if (signal.aborted) {
        await run.stop();
        throw new CannotStart(STOPPED);
      }
      if (endedWith !== undefined) throw new Error(endedWith);
      isUp = true;
      this.#run = run;
      this.#set({ kind: "running", version: run.version });
      return run.client;
    } catch (error) {
      this.#failed(error, signal);
      throw error;
    }
  }

  #failed(error: unknown, signal: AbortSignal): void {
    if (signal.aborted) return;
    const reason = error instanceof Error ? error.message : String(error);
    // Only a server that has run before is restarted automatically, because the user watches the
    // first start.
    if (error instanceof CannotStart || this.#crashes.length === 0) {
      this.#set({ kind: "stopped", reason, crashed: true });
    } else {
      this.#crashed();
    }
  }

  #crashed(): void {
    void this.#run?.stop(); // Stop whatever is left of the process.
    this.#run = undefined;
    const next = afterCrash(this.#crashes, this.#clock.now());
    this.#crashes = next.crashes;
    switch (next.kind) {
      case "stay down":
        this.#set({ kind: "stopped", reason: STAYS_DOWN, crashed: true });
        return;
      case "again": {
        const { waitMs, attempt } = next;
        this.#set({ kind: "waiting", at: this.#clock.now() + waitMs, attempt });
        this.#forget = this.#clock.after(waitMs, () => {
          this.start().catch(() => {}); // `#failed` has reported the error.
        });
      }
    }
  }

  #set(state: ServerState): void {
    this.#state = state;
    if (state.kind === "running" || state.kind === "starting") this.#forget = () => {};
    if (!this.#isOver) this.#changed(state);
  }
}
