/** The server processes of this window: children of the extension host. */
import { execFileSync } from "node:child_process";

/** Returns the process ids of this window's running servers; usually one. */
export function serverProcesses(): readonly number[] {
  const rows = execFileSync("ps", ["-A", "-o", "pid=,ppid=,stat=,args="], {
    encoding: "utf8",
  }).split("\n");
  return rows.flatMap((row) => {
    const [pid, parent, state, ...words] = row.trim().split(/\s+/);
    const ours =
      Number(parent) === process.pid && words.some((word) => /(^|\/)indwell$/.test(word));
    return ours && !state?.startsWith("Z") ? [Number(pid)] : [];
  });
}
