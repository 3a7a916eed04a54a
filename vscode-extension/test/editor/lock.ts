/** One editor at a time on a machine: a browser and a workbench want two cores for themselves. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { tmpdir, userInfo } from "node:os";
import { join } from "node:path";

/**
 * Wait until no other run on this machine has an editor open.
 *
 * The lock is that of a child which ends with us however we end. Where there is no `flock`, nobody waits.
 * Who started us may hold the lock already (INDWELL_EDITOR_LOCK=held), so that waiting counts into no time-out.
 * @returns How the lock is let go.
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
