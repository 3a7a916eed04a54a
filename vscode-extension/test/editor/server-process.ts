/** Finds the server process of a window. */
import { spawnSync } from "node:child_process";
import type { ExtensionHost } from "./extension-host.ts";

/** Returns the process id of the server, or null while no server runs. */
export async function serverOf(host: ExtensionHost): Promise<number | null> {
  const argv = ["-o", "pid=,stat=,args=", "--ppid", String(await host.pid())];
  const rows = spawnSync("ps", argv, { encoding: "utf8" }).stdout.split("\n"); // exit code 1 without a child
  const row = rows.find((one) => /^\s*\d+\s+[^Z].*\bindwell\b.*\bserve\b/.test(one));
  return row === undefined ? null : Number.parseInt(row, 10);
}
