/** Measures CPU time, which other processes of the machine hardly change. */
import assert from "node:assert/strict";

/** The CPU time of `run` in milliseconds: the shortest of three runs. */
function cpuMilliseconds(run: () => void): number {
  const times = [1, 2, 3].map(() => {
    const begin = process.cpuUsage();
    run();
    const { user, system } = process.cpuUsage(begin);
    return (user + system) / 1000;
  });
  return Math.min(...times);
}

/**
 * Checks that eight times the work takes at most 24 times the CPU time, which is far from the 64
 * times of a quadratic cost. `run` does `times` times the work.
 */
export function assertNearlyLinear(run: (times: 1 | 8) => void): void {
  run(1); // warm
  const one = cpuMilliseconds(() => run(1));
  const eight = cpuMilliseconds(() => run(8));
  assert.ok(eight < 24 * one + 20, `${one} ms, then ${eight} ms`);
}
