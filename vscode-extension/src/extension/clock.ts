/** The clock and timers of the chat; a test passes another clock. */
export interface Clock {
  /** Milliseconds since the epoch. */
  now(): number;
  /** Calls `run` once after `ms`; the returned function cancels the call. */
  after(ms: number, run: () => void): () => void;
}

/** The machine's clock. */
export const realClock: Clock = {
  now: () => Date.now(),
  after: (ms, run) => {
    const timer = setTimeout(run, ms);
    return () => clearTimeout(timer);
  },
};

/** Calls `run` once after the last of several calls; `dispose` cancels a waiting call. */
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
