/** Divides the model's window into a few familiar slices. Pure. */
import type { BlockRow, ContextResult, WindowPartRow } from "../../protocol.ts";

export interface ContextSlice {
  readonly name: string;
  /** The estimated number of tokens. */
  readonly tokens: number;
  /**
   * The tokens that were sent before, so that the endpoint's cache can serve them at the lower
   * price of cached input.
   */
  readonly cached: number;
  /** The share of the tokens of all slices, from 0 to 1. */
  readonly share: number;
}

const NAMES = [
  "System prompt",
  "Tool descriptions",
  "Instructions",
  "Files and editor",
  "Tool results",
  "Chat",
  "Summaries",
  "Other",
] as const;
type SliceName = (typeof NAMES)[number];

const OF_SOURCE: Readonly<Record<string, SliceName>> = {
  schemas: "Tool descriptions",
  system: "System prompt",
  environment: "System prompt",
  reminder: "System prompt",
  hook: "System prompt",
  compactor: "System prompt",
  instructions: "Instructions",
  skill: "Instructions",
  ide_selection: "Files and editor",
  ide_opened: "Files and editor",
  mention: "Files and editor",
  diagnostics: "Files and editor",
  changed_file: "Files and editor",
  tool: "Tool results",
  user: "Chat",
  assistant: "Chat",
  summary: "Summaries",
  task_card: "Summaries",
};

/** Returns the non-empty slices, always in the order of a request. */
export function contextSlices(
  context: Pick<ContextResult, "sources" | "blocks">,
): readonly ContextSlice[] {
  const tokens = new Map<SliceName, number>();
  for (const [source, count] of Object.entries(context.sources)) {
    if (typeof count === "number") add(tokens, nameOf(source), count);
  }
  const cached = new Map<SliceName, number>();
  for (const block of cachedBlocks(context.blocks)) add(cached, nameOf(block.source), block.tokens);
  const total = sum(tokens.values());
  return NAMES.flatMap((name) => {
    const count = tokens.get(name) ?? 0;
    if (count <= 0) return [];
    return [
      { name, tokens: count, cached: Math.min(count, cached.get(name) ?? 0), share: count / total },
    ];
  });
}

/** Returns tokens by trust tier with a label, without empty tiers. */
export function tierRows(
  tiers: ContextResult["tiers"],
): readonly { readonly name: string; readonly tokens: number }[] {
  const names: Readonly<Record<string, string>> = {
    "0": "Indwell",
    "1": "you",
    "2": "workspace",
    "3": "tools",
  };
  return Object.entries(tiers).flatMap(([tier, tokens]) =>
    typeof tokens === "number" && tokens > 0 ? [{ name: names[tier] ?? tier, tokens }] : [],
  );
}

const PARTS: ReadonlyMap<WindowPartRow["name"], string> = new Map([
  ["card", "task card"],
  ["words", "your earlier words"],
  ["older", "older exchanges"],
  ["newest", "newest exchange"],
  ["reply", "room for the reply"],
  ["free", "free"],
]);

/** Describes the parts of the window that the slices do not show, without empty parts. */
export function windowWords(
  parts: ContextResult["parts"],
  words: (tokens: number) => string,
): string {
  const named = parts.flatMap(({ name, tokens, limit }) => {
    const label = PARTS.get(name);
    if (label === undefined || tokens <= 0) return [];
    return [`${label} ${words(tokens)}${limit === null ? "" : ` of at most ${words(limit)}`}`];
  });
  return named.join(" · ");
}

/** Describes when the next compaction step runs; returns an empty text if the preset has none. */
export function headroomWords(
  headroom: ContextResult["headroom"],
  words: (tokens: number) => string,
): string {
  const nearest = headroom.toSorted((left, right) => left.at - right.at);
  const due = nearest.find((rung) => rung.left <= 0 && !rung.pays);
  if (due !== undefined) return "with the next request";
  const now = nearest.find((rung) => rung.left <= 0);
  const next = nearest.find((rung) => rung.left > 0);
  if (now !== undefined) return "as soon as it saves more than it costs";
  if (next === undefined) return "";
  return `in ${words(next.left)} tokens, at ${words(next.at)}${next.pays ? ", if it pays" : ""}`;
}

/**
 * Returns the share of the session's input that a cache served, from 0 to 1, or null if the share
 * is unknown.
 */
export function cacheHitRate(health: ContextResult["health"]): number | null {
  const rate = health?.session["indwell.cache.hit_rate"];
  return typeof rate === "number" ? rate : null;
}

function cachedBlocks(blocks: readonly BlockRow[]): readonly BlockRow[] {
  const last = blocks.findLastIndex((block) => block.anchor && block.state === "sent");
  return blocks.slice(0, last + 1).filter((block) => block.state === "sent" && !block.altered);
}

function nameOf(source: string): SliceName {
  return OF_SOURCE[source] ?? "Other";
}

function add(counts: Map<SliceName, number>, name: SliceName, tokens: number): void {
  counts.set(name, (counts.get(name) ?? 0) + tokens);
}

function sum(counts: Iterable<number>): number {
  let total = 0;
  for (const count of counts) total += count;
  return total;
}
