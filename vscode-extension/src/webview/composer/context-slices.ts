/** Divides the model's window into a few familiar slices. Pure. */

import type { BlockRow, ContextResult, WindowPartRow } from "../../protocol.ts";
import { t } from "../../shared/l10n.ts";

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

const NAMES = {
  system: t("System prompt"),
  schemas: t("Tool descriptions"),
  instructions: t("Instructions"),
  files: t("Files and editor"),
  tools: t("Tool results"),
  chat: t("Chat"),
  summaries: t("Summaries"),
  other: t("Other"),
} as const;
type SliceName = keyof typeof NAMES;
const ORDER: readonly SliceName[] = [
  "system",
  "schemas",
  "instructions",
  "files",
  "tools",
  "chat",
  "summaries",
  "other",
];

const OF_SOURCE: Readonly<Record<string, SliceName>> = {
  schemas: "schemas",
  system: "system",
  environment: "system",
  reminder: "system",
  hook: "system",
  compactor: "system",
  instructions: "instructions",
  skill: "instructions",
  ide_selection: "files",
  ide_opened: "files",
  mention: "files",
  diagnostics: "files",
  changed_file: "files",
  tool: "tools",
  user: "chat",
  assistant: "chat",
  summary: "summaries",
  task_card: "summaries",
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
  return ORDER.flatMap((name) => {
    const count = tokens.get(name) ?? 0;
    if (count <= 0) return [];
    return [
      {
        name: NAMES[name],
        tokens: count,
        cached: Math.min(count, cached.get(name) ?? 0),
        share: count / total,
      },
    ];
  });
}

/** Returns tokens by trust tier with a label, without empty tiers. */
export function tierRows(
  tiers: ContextResult["tiers"],
): readonly { readonly name: string; readonly tokens: number }[] {
  const names: Readonly<Record<string, string>> = {
    "0": "Indwell",
    "1": t("you"),
    "2": t("workspace"),
    "3": t("tools"),
  };
  return Object.entries(tiers).flatMap(([tier, tokens]) =>
    typeof tokens === "number" && tokens > 0 ? [{ name: names[tier] ?? tier, tokens }] : [],
  );
}

const PARTS: ReadonlyMap<WindowPartRow["name"], string> = new Map([
  ["card", t("task card")],
  ["words", t("your earlier words")],
  ["older", t("older exchanges")],
  ["newest", t("newest exchange")],
  ["reply", t("room for the reply")],
  ["free", t("free")],
]);

/** Describes the parts of the window that the slices do not show, without empty parts. */
export function windowWords(
  parts: ContextResult["parts"],
  words: (tokens: number) => string,
): string {
  const named = parts.flatMap(({ name, tokens, limit }) => {
    const label = PARTS.get(name);
    if (label === undefined || tokens <= 0) return [];
    const size =
      limit === null ? words(tokens) : t("{0} of at most {1}", words(tokens), words(limit));
    return [`${label} ${size}`];
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
  if (due !== undefined) return t("with the next request");
  const now = nearest.find((rung) => rung.left <= 0);
  const next = nearest.find((rung) => rung.left > 0);
  if (now !== undefined) return t("as soon as it saves more than it costs");
  if (next === undefined) return "";
  return next.pays
    ? t("in {0} tokens, at {1}, if it pays", words(next.left), words(next.at))
    : t("in {0} tokens, at {1}", words(next.left), words(next.at));
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
  return OF_SOURCE[source] ?? "other";
}

function add(counts: Map<SliceName, number>, name: SliceName, tokens: number): void {
  counts.set(name, (counts.get(name) ?? 0) + tokens);
}

function sum(counts: Iterable<number>): number {
  let total = 0;
  for (const count of counts) total += count;
  return total;
}
