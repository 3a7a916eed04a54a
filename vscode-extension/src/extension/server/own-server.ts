/**
 * Runs the server of this window: finds, starts and restarts the server, for example when the
 * folder becomes trusted.
 */

import * as vscode from "vscode";
import type { LanguageClient } from "vscode-languageclient/node";
import { t } from "../../shared/l10n.ts";
import { keysForServer } from "../client/keys.ts";
import { serverVariables } from "./configuration.ts";
import { emptyFolder, type Found, findServer } from "./install/find-server.ts";
import { type Launch, Life } from "./life.ts";
import type { Attach, Server } from "./server.ts";
import type { ServerState } from "./state.ts";

/**
 * The switch that informs the server that this editor asks its user about trust, and that no
 * setting of the workspace can change the answer.
 */
const EDITOR_TRUST = "--editor-trust";

/**
 * Whether VS Code asks about trust. If the user has turned this question off, every folder counts
 * as trusted for VS Code, and the server asks instead. VS Code reads this setting only from the
 * user's settings.
 */
function asksAboutTrust(): boolean {
  const trust = vscode.workspace.getConfiguration("security.workspace.trust");
  return trust.inspect<boolean>("enabled")?.globalValue !== false;
}

const CLOCK = {
  now: () => Date.now(),
  after: (ms: number, call: () => void) => {
    const timer = setTimeout(call, ms);
    return () => clearTimeout(timer);
  },
};

/** See `Server`; created once for each window. */
export class OwnServer implements Server, vscode.Disposable {
  readonly log: vscode.LogOutputChannel;
  program: Found | undefined;
  readonly #context: vscode.ExtensionContext;
  readonly #states = new vscode.EventEmitter<ServerState>();
  readonly #attached = new Set<Attach>();
  readonly #late = new Map<Attach, vscode.Disposable>();
  readonly #life: Life<LanguageClient>;

  constructor(context: vscode.ExtensionContext, log: vscode.LogOutputChannel) {
    this.#context = context;
    this.log = log;
    const changed = (state: ServerState): void => {
      log.info(`Server: ${JSON.stringify(state)}`);
      this.#states.fire(state);
    };
    this.#life = new Life(this.#launch, changed, CLOCK);
  }

  get state(): ServerState {
    return this.#life.state;
  }

  get onDidChangeState(): vscode.Event<ServerState> {
    return this.#states.event;
  }

  get client(): LanguageClient | undefined {
    return this.#life.client;
  }

  attach(attach: Attach): vscode.Disposable {
    this.#attached.add(attach);
    const running = this.client;
    if (running !== undefined) this.#late.set(attach, attach(running));
    return {
      dispose: () => {
        this.#attached.delete(attach);
        this.#late.get(attach)?.dispose();
        this.#late.delete(attach);
      },
    };
  }

  ready(): Promise<LanguageClient> {
    return this.#life.start();
  }

  async request<Result>(
    method: string,
    params?: unknown,
    token?: vscode.CancellationToken,
  ): Promise<Result> {
    const client = await this.ready();
    // An undefined third argument would be sent as a second parameter.
    return token === undefined
      ? client.sendRequest<Result>(method, params ?? {})
      : client.sendRequest<Result>(method, params ?? {}, token);
  }

  notify(method: string, params?: unknown): void {
    // The server's end is reported elsewhere.
    this.client?.sendNotification(method, params ?? {}).catch(() => {});
  }

  execute<Result>(command: string, ...args: readonly unknown[]): Promise<Result> {
    return this.request<Result>("workspace/executeCommand", { command, arguments: args });
  }

  restart(): Promise<void> {
    return this.#life.restart();
  }

  stop(): Promise<void> {
    return this.#life.stop();
  }

  /** Ends the server with the window, in two seconds at most. */
  async close(): Promise<void> {
    await this.#life.dispose();
  }

  dispose(): void {
    void this.close();
    this.#states.dispose();
  }

  readonly #launch: Launch<LanguageClient> = async (reports, signal) => {
    const context = this.#context;
    // Keys are added last, so that programs that search for Python or install packages never
    // receive the keys.
    const env = serverVariables(process.env, {});
    const { log } = this;
    const found = await findServer({ context, log, env, signal, step: reports.step });
    this.program = found;
    reports.step(t("Starting the server"));
    const keys = await keysForServer(context.secrets);
    // The client loads the protocol's library, so it is imported only when a server is needed.
    const { openClient } = await import("./language-client.ts");
    const program = {
      command: found.command,
      args: asksAboutTrust() ? [...found.args, EDITOR_TRUST] : found.args,
      cwd: emptyFolder(context),
      env: serverVariables(process.env, keys),
    };
    for (const part of this.#late.values()) part.dispose();
    this.#late.clear();
    return openClient(program, this.#attached, log, reports, signal);
  };
}
