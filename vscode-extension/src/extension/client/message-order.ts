/** How urgent a message of the server is, and in which order its answers stand. Pure. */
import type { Level } from "../say.ts";

/** `MessageType` of the protocol: 1 error, 2 warning, all others are for information. */
export function levelOf(type: number): Level {
  if (type === 1) return "error";
  return type === 2 ? "warning" : "info";
}

/** How the server words an answer that changes nothing; closing the box says the same. */
const SAFE = /^(No|Not now|Keep mine|Keep|Stay)\b/;

/** The answers, with those first that change nothing: the first one has the focus, so that Enter is safe. */
export function safeFirst<Item extends { readonly title: string }>(
  items: readonly Item[],
): readonly Item[] {
  const isSafe = (one: Item): boolean => SAFE.test(one.title);
  return [...items.filter(isSafe), ...items.filter((one) => !isSafe(one))];
}
