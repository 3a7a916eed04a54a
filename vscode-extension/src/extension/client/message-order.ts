/** Maps a message of the server to an urgency, and orders its answers. Pure. */
import type { Level } from "../say.ts";

/** Converts `MessageType` of the protocol: 1 is an error, 2 a warning, others are information. */
export function levelOf(type: number): Level {
  if (type === 1) return "error";
  return type === 2 ? "warning" : "info";
}

/** The server's labels of answers that change nothing; closing the box means the same. */
const SAFE = /^(No|Not now|Keep mine|Keep|Stay)\b/;

/**
 * Sorts the answers, the harmless ones first: the first answer has the focus, so that Enter is
 * safe.
 */
export function safeFirst<Item extends { readonly title: string }>(
  items: readonly Item[],
): readonly Item[] {
  const isSafe = (one: Item): boolean => SAFE.test(one.title);
  return [...items.filter(isSafe), ...items.filter((one) => !isSafe(one))];
}
