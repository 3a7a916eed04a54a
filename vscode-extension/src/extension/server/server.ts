/** The interface of this window's server for other parts. */
import type * as vscode from "vscode";
import type { LanguageClient } from "vscode-languageclient/node";
import type { Found } from "./install/find-server.ts";
import type { ServerState } from "./state.ts";

/**
 * Registers handlers on a client before the client starts; called for every new process. The
 * returned object is disposed when the process has ended.
 */
export type Attach = (client: LanguageClient) => vscode.Disposable;

/** The state of the server, and its methods. */
export interface Server {
  /** The current state. */
  readonly state: ServerState;
  /** Fires with each new state. */
  readonly onDidChangeState: vscode.Event<ServerState>;
  /** Calls `attach` for the client of this process (if one runs) and of every later one. */
  attach(attach: Attach): vscode.Disposable;
  /**
   * Returns the running client; starts the server if needed. Rejects with a sentence for the user.
   */
  ready(): Promise<LanguageClient>;
  /** The running client, or undefined; reading it starts nothing. */
  readonly client: LanguageClient | undefined;
  /**
   * Sends a request, and starts the server first if needed. Rejects if the server answers with an
   * error.
   */
  request<Result>(
    method: string,
    params?: unknown,
    token?: vscode.CancellationToken,
  ): Promise<Result>;
  /** Sends a notification if the server runs; otherwise does nothing. */
  notify(method: string, params?: unknown): void;
  /** The program of the last start with its arguments, or undefined before the first start. */
  readonly program: Found | undefined;
  /** Runs a command of the server (`workspace/executeCommand`). */
  execute<Result>(command: string, ...args: readonly unknown[]): Promise<Result>;
  /** Stops the server if it runs, and starts the server again. */
  restart(): Promise<void>;
  /** Stops the server, which stays stopped until the user starts it. */
  stop(): Promise<void>;
  /** The channel `Indwell`; never write keys or texts of the user's files there. */
  readonly log: vscode.LogOutputChannel;
}
