/** The server as the chat uses it: typed from end to end, and easy to stand in for. */
import type { Commands, ServerRequests } from "../../protocol.ts";
import { plainSentence } from "../../shared/plain-sentence.ts";

/** Takes a request back; the editor's own kind of token fits. */
export interface Token {
  readonly isCancellationRequested: boolean;
  onCancellationRequested(listener: (reason?: unknown) => void): { dispose(): void };
}

/** Rejects with the server's own sentence; of a prompt `draftOf` finds the words in the error. */
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

/** The answer to what was taken back (`RequestCancelled` of LSP). */
const CANCELLED = -32800;

/** What vscode-jsonrpc rejects with, from a message that could not be written to a line that is closed. */
const WIRE_BROKE = -32099;
const WIRE_CLOSED = -32096;

/** What a request is rejected with that would have to start a server for something nobody asked for. */
export class NotRunning extends Error {
  readonly code = WIRE_CLOSED;
}

/** Words that an error gives back; null if it gives none. */
export function draftOf(error: unknown): string | null {
  const data = fieldOf(error, "data");
  const draft = fieldOf(data, "draft");
  return typeof draft === "string" ? draft : null;
}

/** Has another process the session open? Once that has ended, the same request goes through. */
export function isOpenElsewhere(error: unknown): boolean {
  return fieldOf(fieldOf(error, "data"), "reason") === "openElsewhere";
}

/** Was it taken back, so that nobody need be told? */
export function isCancelled(error: unknown): boolean {
  return fieldOf(error, "code") === CANCELLED;
}

/** Did the server go before it answered? The panel says that by itself. */
export function isGone(error: unknown): boolean {
  const code = fieldOf(error, "code");
  return typeof code === "number" && code >= WIRE_BROKE && code <= WIRE_CLOSED;
}

/** One sentence for the user. */
export function sentenceOf(error: unknown): string {
  const words = error instanceof Error ? error.message : String(error);
  return words.trim() === "" ? "It did not work; the log may say why." : plainSentence(words);
}

function fieldOf(value: unknown, name: string): unknown {
  return typeof value === "object" && value !== null
    ? (value as Readonly<Record<string, unknown>>)[name]
    : undefined;
}
