/** Lines that the server writes to stderr, and how much they matter. Pure. */

/** Levels of the editor's log. */
export type Level = "error" | "warn" | "info" | "debug";

const LEVELS: Readonly<Record<string, Level>> = {
  CRITICAL: "error",
  ERROR: "error",
  WARNING: "warn",
  INFO: "info",
  DEBUG: "debug",
};

/** The level that a line names (`WARNING …`), and the rest of it; what names none is shown as `info`. */
export function readLine(line: string): { readonly level: Level; readonly text: string } {
  const found = /^([A-Z]+) (.*)$/.exec(line);
  const level = LEVELS[found?.[1] ?? ""];
  return level === undefined ? { level: "info", text: line } : { level, text: found?.[2] ?? "" };
}

/**
 * What of a traced message is logged: its first line, which names the method; never its body, in which
 * keys and texts of files stand. Undefined where nothing is.
 */
export function tracedLine(message: string): string | undefined {
  const line = message.split(/\r?\n/, 1)[0] ?? "";
  return line === "" || line.startsWith("{") ? undefined : line;
}

/** What came of a start that failed. */
export interface FailedStart {
  /** The last line that the server wrote to stderr; empty if it wrote none. */
  readonly lastLine: string;
  /** What the language client said. */
  readonly said: string;
  readonly isLate: boolean;
}

/** One sentence for the user. What the client says of pipes is of no use to him; the log has it. */
export function whyNotStarted({ lastLine, said, isLate }: FailedStart): string {
  if (isLate) return "The server did not answer within a minute.";
  if (lastLine !== "") return `The server did not start: ${lastLine}`;
  if (/^Launching server/.test(said)) return "The server's program could not be run.";
  return "The server ended while it started.";
}
