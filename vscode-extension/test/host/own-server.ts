/** The server of this window as the system sees it: a process below the extension host. */
import { execFileSync } from "node:child_process";

/** Ids of running servers of this window; usually one. */
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
