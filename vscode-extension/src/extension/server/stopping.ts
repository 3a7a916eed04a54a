/** Stops a server: asks the server, waits for the end of its process, and kills a process that stays. */
import type { Clock } from "../clock.ts";

/** Milliseconds that the server has for the answer to `shutdown`. */
export const STOP_MS = 1500;

/**
 * Milliseconds that the process has after `exit` to close its sessions and end its commands; then
 * it is killed. VS Code gives an extension 5 seconds for both.
 */
export const EXIT_MS = 2500;

/** The functions of a child process that stopping needs. */
export interface Process {
  readonly exitCode: number | null;
  readonly signalCode: string | null;
  once(event: "exit", heard: () => void): unknown;
  kill(signal: "SIGKILL"): unknown;
}

/** The functions of a language client that stopping needs. */
export interface Stoppable {
  readonly serverProcess: Process | undefined;
  isRunning(): boolean;
  stop(ms: number): Promise<void>;
}

/**
 * Ends the server's process. A client that is starting or failed to start cannot be asked, so its
 * process is killed at once.
 */
export async function stopServer(client: Stoppable, clock: Clock): Promise<void> {
  const child = client.serverProcess;
  const isAsked = client.isRunning();
  if (isAsked) await client.stop(STOP_MS).catch(() => {});
  if (child !== undefined && !(await ended(child, isAsked ? EXIT_MS : 0, clock)))
    child.kill("SIGKILL");
}

/** Waits until a process has ended, and returns whether it has; false after `ms` milliseconds. */
function ended(child: Process, ms: number, clock: Clock): Promise<boolean> {
  if (child.exitCode !== null || child.signalCode !== null) return Promise.resolve(true);
  return new Promise((done) => {
    const cancel = clock.after(ms, () => done(false));
    child.once("exit", () => {
      cancel();
      done(true);
    });
  });
}
