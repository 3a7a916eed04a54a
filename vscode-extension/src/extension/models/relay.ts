/**
 * Sends the parts of a reply in batches, no faster than they are received. Independent of the
 * window.
 */
import type { Clock } from "../clock.ts";
import type { Piece } from "./translate.ts";

/** Milliseconds for which parts are collected, because the panel draws at the same rate. */
const REST_MS = 33;

/** Characters after which a batch is sent at once. */
const MOST = 32_000;

/**
 * Reads `stream` to its end; `send` receives the parts, with parts of one kind joined. The next
 * part is read only after a large batch was received. Rejects as the stream or `send` does, after
 * earlier parts were sent.
 */
export async function relay(
  stream: AsyncIterable<unknown>,
  pieceOf: (part: unknown) => Piece | null,
  send: (pieces: readonly Piece[]) => Promise<void>,
  clock: Pick<Clock, "after">,
): Promise<void> {
  let batch: Piece[] = [];
  let size = 0;
  let off: (() => void) | undefined;
  let sending: Promise<void> = Promise.resolve();
  const flush = (): Promise<void> => {
    off?.();
    off = undefined;
    if (batch.length > 0) {
      const pieces = batch;
      batch = [];
      size = 0;
      sending = sending.then(() => send(pieces));
      sending.catch(() => {}); // The error is reported to the next waiter.
    }
    return sending;
  };
  try {
    for await (const part of stream) {
      const piece = pieceOf(part);
      if (piece === null) continue;
      size += add(batch, piece);
      if (size >= MOST) await flush();
      else off ??= clock.after(REST_MS, () => void flush());
    }
  } finally {
    await flush();
  }
}

/** Adds a part, joined with the last one if both are text of one kind; returns the part's size. */
function add(batch: Piece[], piece: Piece): number {
  if (piece.kind === "call") {
    batch.push(piece);
    return piece.arguments.length;
  }
  const last = batch.at(-1);
  if (last !== undefined && last.kind === piece.kind)
    batch[batch.length - 1] = { kind: piece.kind, text: last.text + piece.text };
  else batch.push(piece);
  return piece.text.length;
}
