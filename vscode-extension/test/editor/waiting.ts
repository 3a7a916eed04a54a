/** Waits for a condition instead of for a time. */

const PATIENCE_MS = 60_000;
const LOOK_EVERY_MS = 25;

/**
 * Calls `look` repeatedly until it returns a value other than undefined, null and false.
 * @throws Error that names `what`, after 60 seconds, which also suffice on a busy machine.
 */
export async function until<T>(what: string, look: () => T | Promise<T>): Promise<NonNullable<T>> {
  const deadline = Date.now() + PATIENCE_MS;
  for (;;) {
    const found = await look();
    if (found !== undefined && found !== null && found !== false) return found;
    if (Date.now() > deadline) throw new Error(`timed out waiting for ${what}`);
    await new Promise((done) => setTimeout(done, LOOK_EVERY_MS));
  }
}
