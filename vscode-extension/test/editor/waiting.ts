/** Waiting for a state instead of for a time. */

const PATIENCE_MS = 60_000;
/** Each look costs the browser time that what is waited for needs, so a long wait has few looks. */
const FIRST_LOOK_MS = 25;
const LAST_LOOK_MS = 250;
const SHARE = 0.15;

/**
 * Look again and again until there is something.
 * @throws Error naming `what`, after 60 seconds: a busy machine is no reason.
 */
export async function until<T>(what: string, look: () => T | Promise<T>): Promise<NonNullable<T>> {
  const began = Date.now();
  for (;;) {
    const found = await look();
    if (found !== undefined && found !== null && found !== false) return found;
    const waited = Date.now() - began;
    if (waited > PATIENCE_MS) throw new Error(`waited in vain: ${what}`);
    const pause = Math.min(LAST_LOOK_MS, Math.max(FIRST_LOOK_MS, SHARE * waited));
    await new Promise((done) => setTimeout(done, pause));
  }
}
