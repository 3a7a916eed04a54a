/** Reads the lines that the server writes to stderr, with their levels. Pure. */
import { t } from "../../shared/l10n.ts";

/** Levels of the editor's log. */
export type Level = "error" | "warn" | "info" | "debug";

const LEVELS: Readonly<Record<string, Level>> = {
  CRITICAL: "error",
  ERROR: "error",
  WARNING: "warn",
  INFO: "info",
  DEBUG: "debug",
};

/**
 * Returns the level that a line names (`WARNING …`), and the rest of the line; a line without a
 * level is `info`.
 */
export function readLine(line: string): { readonly level: Level; readonly text: string } {
  const found = /^([A-Z]+) (.*)$/.exec(line);
  const level = LEVELS[found?.[1] ?? ""];
  return level === undefined ? { level: "info", text: line } : { level, text: found?.[2] ?? "" };
}

/**
 * Returns the part of a traced message that is logged: the first line, which names the method. The
 * body, which contains keys and texts of files, is never logged. Returns undefined if nothing of
 * the message is logged.
 */
export function tracedLine(message: string): string | undefined {
  const line = message.split(/\r?\n/, 1)[0] ?? "";
  return line === "" || line.startsWith("{") ? undefined : line;
}

/** The output of a failed start. */
export interface FailedStart {
  /** The last line that the server wrote to stderr, or empty if the server wrote no line. */
  readonly lastLine: string;
  /** The error of the language client. */
  readonly said: string;
  readonly isLate: boolean;
}

/**
 * Returns one sentence for the user. The client's errors about pipes appear only in the log,
 * because they do not help the user.
 */
export function whyNotStarted({ lastLine, said, isLate }: FailedStart): string {
  if (isLate) return t("The server did not answer within a minute.");
  if (lastLine !== "") return t("The server did not start: {0}", lastLine);
  if (/^Launching server/.test(said)) return t("The server's program could not be run.");
  return t("The server ended while it started.");
}
