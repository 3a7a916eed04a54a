/** A program that ends, with all that it started, when we end: also when we are killed. */
import { type ChildProcess, spawn } from "node:child_process";

// The shell reads our end of a pipe. However we end, it sees the end of it and kills its own group.
const GUARD =
  'exec 3<&0; "$@" 3<&- </dev/null & program=$!; (cat <&3 >/dev/null; kill -s KILL -- -$$) & wait $program; kill -s KILL -- -$$';

/** A running program. */
export interface Group {
  readonly child: ChildProcess;
  /** All that it wrote so far. */
  readonly output: () => string;
  /** End it and what it started; resolves when the guard is gone. */
  readonly end: () => Promise<void>;
}

/**
 * Start a program in a process group of its own.
 * @param environment All of its variables.
 */
export function startGroup(argv: readonly string[], environment: NodeJS.ProcessEnv): Group {
  const child = spawn("/bin/sh", ["-c", GUARD, "sh", ...argv], {
    detached: true,
    env: environment,
    stdio: ["pipe", "pipe", "pipe"],
  });
  let output = "";
  const keep = (chunk: Buffer): void => {
    output += chunk.toString("utf8");
  };
  child.stdout.on("data", keep);
  child.stderr.on("data", keep);
  const ended = new Promise<void>((done) => child.once("close", () => done()));
  return {
    child,
    output: () => output,
    end: async () => {
      if (child.pid !== undefined && child.exitCode === null) killGroup(child.pid);
      await ended;
    },
  };
}

function killGroup(pid: number): void {
  try {
    process.kill(-pid, "SIGKILL");
  } catch (error) {
    if (!(error instanceof Error && "code" in error && error.code === "ESRCH")) throw error; // it ended by itself
  }
}
