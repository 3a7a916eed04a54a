/** Time, as far as the chat needs it: a test brings its own. */
export interface Clock {
  /** Milliseconds since the epoch. */
  now(): number;
  /** Calls `run` once after `ms`; what is returned calls it off. */
  after(ms: number, run: () => void): () => void;
}

/** The machine's own. */
export const realClock: Clock = {
  now: () => Date.now(),
  after: (ms, run) => {
    const timer = setTimeout(run, ms);
    return () => clearTimeout(timer);
  },
};

/** `run` once after the last of a row of calls; `dispose` forgets a call that waits. */
export function debounced(
  clock: Clock,
  ms: number,
  run: () => void,
): { (): void; dispose(): void } {
  let off: (() => void) | undefined;
  const call = (): void => {
    off?.();
    off = clock.after(ms, () => {
      off = undefined;
      run();
    });
  };
  return Object.assign(call, { dispose: () => off?.() });
}
