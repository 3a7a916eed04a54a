/** Cancels a request, once. */
import type { Token } from "./backend.ts";

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
export class TakenBack extends Error {
  readonly code = -32800;
}

/** Waits for `promise`; rejects with `TakenBack` if the token is cancelled first. */
export async function unlessCancelled(promise: Promise<unknown>, cancel: Cancel): Promise<void> {
  const cancelled = new Promise<void>((resolve) => {
    cancel.onCancellationRequested(() => resolve());
  });
  await Promise.race([promise, cancelled]);
  if (cancel.isCancellationRequested) throw new TakenBack("taken back");
}
