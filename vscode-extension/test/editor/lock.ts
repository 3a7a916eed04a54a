/** Allows one editor at a time on a machine, because a browser and a workbench need two cores. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { tmpdir, userInfo } from "node:os";
import { join } from "node:path";

/**
 * Waits until no other run on this machine has an editor open.
 *
 * A child process holds the lock and ends with this process in any case. Without `flock`, there is no lock.
 * The parent may hold the lock (INDWELL_EDITOR_LOCK=held), so that no time-out includes the waiting.
 * @returns A function that releases the lock.
 */
export async function oneAtATime(): Promise<() => void> {
  if (process.env["INDWELL_EDITOR_LOCK"] === "held") return () => undefined;
  const path = join(tmpdir(), `indwell-editor-${userInfo().uid}.lock`);
  const holder = spawn("flock", [path, "sh", "-c", "echo held; exec cat"], {
    stdio: ["pipe", "pipe", "ignore"],
  });
  const failed = new Promise<void>((done) => holder.once("error", () => done()));
  await Promise.race([once(holder.stdout, "data"), failed]);
  return () => holder.stdin.destroy();
}
