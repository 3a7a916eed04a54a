/** Runs one program to its end. */
import { spawn } from "node:child_process";

/**
 * The maximum number of characters of output that are kept, from the end, where an error message
 * usually is.
 */
const KEPT = 20_000;

/**
 * The result of a program; `code` is null if the program could not be started, or was ended by a
 * signal.
 */
export interface Ended {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** The folder and options of a program. */
export interface Running {
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
  /** Ends the program; the promise then resolves with a null code. */
  readonly signal: AbortSignal;
  readonly timeoutMs: number;
}

/** Runs `command`, without a shell; never rejects. */
export function runProgram(command: string, args: readonly string[], how: Running): Promise<Ended> {
  const { cwd, env, signal, timeoutMs } = how;
  return new Promise((resolve) => {
    let stdout = "";
    let stderr = "";
    const child = spawn(command, args, {
      cwd,
      env,
      signal,
      timeout: timeoutMs,
      windowsHide: true,
      stdio: ["ignore", "pipe", "pipe"],
    });
    child.stdout.setEncoding("utf8").on("data", (text: string) => {
      stdout = (stdout + text).slice(-KEPT);
    });
    child.stderr.setEncoding("utf8").on("data", (text: string) => {
      stderr = (stderr + text).slice(-KEPT);
    });
    child.on("error", (error) =>
      resolve({ code: null, stdout, stderr: `${stderr}${error.message}` }),
    );
    child.on("close", (code) => resolve({ code, stdout, stderr }));
  });
}
