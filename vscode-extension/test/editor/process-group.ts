/** Starts programs that end, with all their children, when this process ends, also when it is killed. */
import { type ChildProcess, spawn } from "node:child_process";

// The shell reads from a pipe of this process. When this process ends, the pipe closes and the shell kills its group.
const GUARD =
  'exec 3<&0; "$@" 3<&- </dev/null & program=$!; (cat <&3 >/dev/null; kill -s KILL -- -$$) & wait $program; kill -s KILL -- -$$';

/** A running program. */
export interface Group {
  readonly child: ChildProcess;
  /** Returns the program's output so far. */
  readonly output: () => string;
  /** Ends the program and its children; resolves when the shell has ended. */
  readonly end: () => Promise<void>;
}

/**
 * Starts a program in its own process group.
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
    if (!(error instanceof Error && "code" in error && error.code === "ESRCH")) throw error; // the group has ended already
  }
}
