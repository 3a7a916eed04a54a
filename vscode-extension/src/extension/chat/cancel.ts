/** Takes a request back, once. */
import type { Token } from "./backend.ts";

/** A token with its trigger. */
export class Cancel implements Token {
  isCancellationRequested = false;
  readonly #listeners = new Set<(reason?: unknown) => void>();

  /** Take it back; a second time does nothing. */
  cancel(): void {
    if (this.isCancellationRequested) return;
    this.isCancellationRequested = true;
    for (const tell of this.#listeners) tell();
    this.#listeners.clear();
  }

  // An arrow, as the editor's client takes the function off the object.
  readonly onCancellationRequested = (
    listener: (reason?: unknown) => void,
  ): { dispose(): void } => {
    this.#listeners.add(listener);
    return { dispose: () => void this.#listeners.delete(listener) };
  };
}

/** What a request is rejected with that was taken back before it went out; the server's own error has this code too. */
export class TakenBack extends Error {
  readonly code = -32800;
}

/** Waits for `promise` as long as nobody cancels. Rejects with `TakenBack` then. */
export async function unlessCancelled(promise: Promise<unknown>, cancel: Cancel): Promise<void> {
  const cancelled = new Promise<void>((resolve) => {
    cancel.onCancellationRequested(() => resolve());
  });
  await Promise.race([promise, cancelled]);
  if (cancel.isCancellationRequested) throw new TakenBack("taken back");
}
