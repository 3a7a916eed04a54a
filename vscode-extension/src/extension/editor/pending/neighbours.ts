/** Finds the next pending change, through all files. Pure. */

/** A line at which the user can reach a change. */
export interface Stop {
  readonly id: string;
  readonly uri: string;
  readonly line: number;
  /** The number of the change's lines, or 0 if the change only removed lines. */
  readonly count: number;
}

/** Sorts stops in the order of the list of changes: by file, then by ascending line. */
export function ordered(stops: readonly Stop[]): readonly Stop[] {
  const files = new Map<string, number>();
  for (const one of stops) if (!files.has(one.uri)) files.set(one.uri, files.size);
  const place = (one: Stop): number => files.get(one.uri) ?? 0;
  return [...stops].sort((a, b) => place(a) - place(b) || a.line - b.line);
}

/**
 * Returns the next (or previous) change from a line; continues in the next file, and wraps around.
 */
export function neighbour(
  stops: readonly Stop[],
  uri: string | null,
  line: number,
  way: "next" | "previous",
): Stop | null {
  const all = ordered(stops);
  const own = all.filter((one) => one.uri === uri);
  if (own.length === 0) return (way === "next" ? all[0] : all.at(-1)) ?? null;
  const near =
    way === "next" ? own.find((one) => one.line > line) : own.findLast((one) => one.line < line);
  if (near !== undefined) return near;
  const edge = way === "next" ? own.at(-1) : own[0];
  const index = edge === undefined ? -1 : all.indexOf(edge);
  return all.at((index + (way === "next" ? 1 : -1) + all.length) % all.length) ?? null;
}

/** Returns the changes that a line, or the lines of a selection, touch. */
export function touching(
  stops: readonly Stop[],
  uri: string,
  first: number,
  last: number,
): readonly Stop[] {
  return stops.filter(
    (one) => one.uri === uri && one.line <= last && one.line + Math.max(one.count - 1, 0) >= first,
  );
}
