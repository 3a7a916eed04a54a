/** The server of a window as the system sees it. */
import { spawnSync } from "node:child_process";
import type { ExtensionHost } from "./extension-host.ts";

/** Its process id; null while none runs. */
export async function serverOf(host: ExtensionHost): Promise<number | null> {
  const argv = ["-o", "pid=,stat=,args=", "--ppid", String(await host.pid())];
  const rows = spawnSync("ps", argv, { encoding: "utf8" }).stdout.split("\n"); // none: exit code 1
  const row = rows.find((one) => /^\s*\d+\s+[^Z].*\bindwell\b.*\bserve\b/.test(one));
  return row === undefined ? null : Number.parseInt(row, 10);
}
