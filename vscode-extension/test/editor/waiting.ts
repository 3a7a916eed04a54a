/** Waiting for a state instead of for a time. */

const PATIENCE_MS = 60_000;
const LOOK_EVERY_MS = 25;

/**
 * Look again and again until there is something.
 * @throws Error naming `what`, after 60 seconds: a busy machine is no reason.
 */
export async function until<T>(what: string, look: () => T | Promise<T>): Promise<NonNullable<T>> {
  const deadline = Date.now() + PATIENCE_MS;
  for (;;) {
    const found = await look();
    if (found !== undefined && found !== null && found !== false) return found;
    if (Date.now() > deadline) throw new Error(`waited in vain: ${what}`);
    await new Promise((done) => setTimeout(done, LOOK_EVERY_MS));
  }
}
