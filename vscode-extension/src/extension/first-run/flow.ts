/**
 * Runs the first-run flow on the host: requests the providers from the server, tests a login,
 * stores the key. The flow is independent of the window. A key is in memory from typing until the
 * flow closes, and never in the state.
 */

import type { LoginResult, ProvidersResult } from "../../protocol.ts";
import { t } from "../../shared/l10n.ts";
import type { ToHost } from "../../shared/messages.ts";
import type { Action } from "../../shared/state/action.ts";
import type { FirstRunState } from "../../shared/state/state.ts";
import { keepKey, type Secrets } from "../client/keys.ts";

/** The flow's interface to the extension. `request` rejects with an error whose message is for the user. */
export interface Surroundings {
  readonly request: <Result>(method: string, params: object) => Promise<Result>;
  readonly secrets: Secrets;
  readonly dispatch: (action: Action) => void;
}

/**
 * The name by which the server knows the editor, and the reason why the editor offers no models.
 */
const EDITOR = "vscode";
const NO_EDITOR_MODELS = t(
  "VS Code offers no models here. Sign in to GitHub Copilot, or install another extension with models, and try again.",
);

type Login = Extract<ToHost, { type: "login" }>;
type Step = Extract<ToHost, { type: "firstRun" }>;

/** A signal that the caller has stopped waiting, such as an LSP cancellation token. */
export interface Ending {
  onCancellationRequested(listener: () => void): unknown;
}

/** Runs at most one flow at a time; further callers wait for the end of the same flow. */
export class FirstRunFlow {
  readonly #around: Surroundings;
  #state: FirstRunState | null = null;
  #waiting: ((ok: boolean) => void)[] = [];
  /** The key of the last login and its provider, for the choice of a model right after it. */
  #typed: { readonly provider: string; readonly url: string | null; readonly key: string } | null =
    null;
  /** The number of the newest request; answers to older requests are dropped. */
  #run = 0;

  constructor(around: Surroundings) {
    this.#around = around;
  }

  /** Whether the flow is open. */
  get isOpen(): boolean {
    return this.#state !== null;
  }

  /**
   * Handles `indwell/firstRun`: resolves with true when a model can be called, or with false if the
   * user gave up.
   */
  ask(reason: string, ending?: Ending): Promise<{ readonly ok: boolean }> {
    const answer = new Promise<{ readonly ok: boolean }>((resolve) => {
      this.#waiting.push((ok) => resolve({ ok }));
    });
    ending?.onCancellationRequested(() => this.#close(false));
    void this.#begin(reason);
    return answer;
  }

  /**
   * Opens the flow for the user, to add a provider or change to another; no caller waits for the
   * end.
   */
  async open(): Promise<void> {
    await this.#begin("");
  }

  /**
   * Tests and uses the first of the editor's own models; if there is none, the flow shows a message
   * and stays open.
   */
  async useEditorModels(): Promise<void> {
    await this.#begin("");
    const providers = this.#state?.providers ?? null;
    if (providers === null || this.#state?.error !== "") return;
    const model = providers.editor[0];
    if (model === undefined) this.#change(this.#run, { error: NO_EDITOR_MODELS });
    else await this.#login({ type: "login", provider: EDITOR, key: "", url: null, model });
  }

  /**
   * Handles a message of the panel. Never rejects. A login's `key` is the typed text: empty for no
   * key, or null for the key that was just typed for the same address.
   */
  async handle(message: Login | Step): Promise<void> {
    if (message.type === "login") {
      // The empty panel has a button that uses a server of this machine at once.
      if (!this.isOpen) await this.#begin("");
      await this.#login(message);
    } else if (message.step === "look") await this.#look();
    else if (message.step === "cancel") this.#close(this.#state?.outcome?.ok === true);
    else await this.#begin(this.#state?.reason ?? "");
  }

  /** Closes the flow; waiting callers get false, as if the user gave up. */
  dispose(): void {
    this.#close(false);
  }

  /** Finds a ready model of a server on this machine, for the empty panel. */
  async #look(): Promise<void> {
    const found = await this.#around
      .request<ProvidersResult>("indwell/providers", {})
      .catch(() => null); // The panel offers the other ways.
    const row = found?.local.find((one) => one.ready && one.models.length > 0);
    const model = row?.models[0];
    const near = row === undefined || model === undefined ? null : { ...row, model };
    this.#around.dispatch({
      type: "near",
      near: near && { title: near.title, url: near.url, model: near.model },
    });
  }

  async #begin(reason: string): Promise<void> {
    const run = ++this.#run;
    const kept = this.#state;
    this.#show({
      reason: reason === "" ? (kept?.reason ?? "") : reason,
      providers: kept?.providers ?? null,
      busy: true,
      outcome: null,
      error: "",
    });
    try {
      const found = await this.#around.request<ProvidersResult>("indwell/providers", {});
      this.#change(run, { providers: found, busy: false });
    } catch (error) {
      this.#change(run, { busy: false, error: sentence(error) });
    }
  }

  async #login(message: Login): Promise<void> {
    if (this.#state === null || this.#state.busy) return;
    const run = ++this.#run;
    const { provider, url, model } = message;
    const key = message.key === "" ? null : (message.key ?? this.#keyFor(provider, url));
    this.#typed = key === null ? null : { provider, url, key };
    this.#change(run, { busy: true, outcome: null, error: "" });
    try {
      const params = { provider, key, url, model, keep: "client" };
      const outcome = await this.#around.request<LoginResult>("indwell/login", params);
      // The key is stored even if the user has left, because the server has already stored the
      // address.
      if (outcome.ok && outcome.origin !== "" && key !== null)
        await keepKey(this.#around.secrets, outcome.origin, key);
      if (run !== this.#run) return;
      if (outcome.ok && !hasWarnings(outcome)) this.#close(true);
      else this.#change(run, { busy: false, outcome });
    } catch (error) {
      this.#change(run, { busy: false, error: without(sentence(error), key) });
    }
  }

  #keyFor(provider: string, url: string | null): string | null {
    const typed = this.#typed;
    return typed !== null && typed.provider === provider && typed.url === url ? typed.key : null;
  }

  #change(run: number, change: Partial<FirstRunState>): void {
    if (run === this.#run && this.#state !== null) this.#show({ ...this.#state, ...change });
  }

  #show(state: FirstRunState): void {
    this.#state = state;
    this.#around.dispatch({ type: "firstRun", firstRun: state });
  }

  #close(ok: boolean): void {
    this.#run += 1;
    this.#typed = null;
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const tell of waiting) tell(ok);
    if (this.#state === null) return;
    this.#state = null;
    this.#around.dispatch({ type: "firstRun", firstRun: null });
  }
}

/**
 * Returns whether the outcome has warnings, which the panel then shows before the user continues.
 */
function hasWarnings(outcome: LoginResult): boolean {
  return outcome.notes.length > 0 || outcome.steps.some((step) => step.state === "warn");
}

function sentence(error: unknown): string {
  return error instanceof Error ? error.message : t("The server did not answer");
}

/** Removes a key from a text, because an error from another program might quote the request. */
function without(text: string, key: string | null): string {
  return key === null || key === "" ? text : text.replaceAll(key, "(key)");
}
