/**
 * The server's interface for the chat: fully typed, and easy to replace in tests; a request is
 * cancelled once.
 */
import type { Commands, ServerRequests } from "../../protocol.ts";
import { t } from "../../shared/l10n.ts";
import { plainSentence } from "../../shared/words.ts";

/** Cancels a request; the editor's cancellation tokens have this type. */
export interface Token {
  readonly isCancellationRequested: boolean;
  onCancellationRequested(listener: (reason?: unknown) => void): { dispose(): void };
}

/** Rejects with the server's error message; `draftOf` returns the text of a rejected prompt. */
export interface Backend {
  request<M extends keyof ServerRequests>(
    method: M,
    params: ServerRequests[M]["params"],
    token?: Token,
  ): Promise<ServerRequests[M]["result"]>;
  execute<C extends keyof Commands>(
    command: C,
    argument: Commands[C]["argument"],
  ): Promise<Commands[C]["result"]>;
}

/** The error code of a cancelled request (`RequestCancelled` of LSP). */
const CANCELLED = -32800;

/** The error codes of vscode-jsonrpc for a connection that is closed or cannot be written to. */
const WIRE_BROKE = -32099;
const WIRE_CLOSED = -32096;

/** The error code of a background request that would have to start a server. */
export class NotRunning extends Error {
  readonly code = WIRE_CLOSED;
}

/** Returns the unsent text that an error has for the user, or null if it has none. */
export function draftOf(error: unknown): string | null {
  const data = fieldOf(error, "data");
  const draft = fieldOf(data, "draft");
  return typeof draft === "string" ? draft : null;
}

/**
 * Returns whether another process has the session open; after that process ends, the request
 * succeeds.
 */
export function isOpenElsewhere(error: unknown): boolean {
  return fieldOf(fieldOf(error, "data"), "reason") === "openElsewhere";
}

/** Returns whether the request was cancelled, so that the user needs no message. */
export function isCancelled(error: unknown): boolean {
  return fieldOf(error, "code") === CANCELLED;
}

/** Returns whether the server ended before it answered; the panel reports that by itself. */
export function isGone(error: unknown): boolean {
  const code = fieldOf(error, "code");
  return typeof code === "number" && code >= WIRE_BROKE && code <= WIRE_CLOSED;
}

/** Returns the error as one sentence for the user. */
export function sentenceOf(error: unknown): string {
  const words = error instanceof Error ? error.message : String(error);
  return words.trim() === "" ? t("It did not work; the log may say why.") : plainSentence(words);
}

function fieldOf(value: unknown, name: string): unknown {
  return typeof value === "object" && value !== null
    ? (value as Readonly<Record<string, unknown>>)[name]
    : undefined;
}

/** A cancellation token with its trigger. */
export class Cancel implements Token {
  isCancellationRequested = false;
  readonly #listeners = new Set<(reason?: unknown) => void>();

  /** Cancel the request; a second call does nothing. */
  cancel(): void {
    if (this.isCancellationRequested) return;
    this.isCancellationRequested = true;
    for (const tell of this.#listeners) tell();
    this.#listeners.clear();
  }

  // The property is an arrow function, because the editor's client calls it without its object.
  readonly onCancellationRequested = (
    listener: (reason?: unknown) => void,
  ): { dispose(): void } => {
    this.#listeners.add(listener);
    return { dispose: () => void this.#listeners.delete(listener) };
  };
}

/** The error of a request that was cancelled before it was sent; the server's own error has the same code. */
class TakenBack extends Error {
  readonly code = -32800;
}

/** Waits for `promise`; rejects with `TakenBack` if the token is cancelled first. */
export async function unlessCancelled<T>(promise: Promise<T>, cancel: Cancel): Promise<T> {
  const cancelled = new Promise<null>((resolve) => {
    cancel.onCancellationRequested(() => resolve(null));
  });
  await Promise.race([promise, cancelled]);
  if (cancel.isCancellationRequested) throw new TakenBack("taken back");
  return promise;
}
