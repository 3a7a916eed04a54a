/** Shows what fills the model's window, slice by slice, with actions to reduce it. */
import type { BlockRow, ContextResult, WindowPartRow } from "../../protocol.ts";
import { t } from "../../shared/l10n.ts";
import { costFigure, shareFigure, tokenFigure } from "../../shared/words.ts";

interface ContextSlice {
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

interface ContextBreakdownProps {
  readonly context: ContextResult;
  readonly running: boolean;
  /** The session's cost in US dollars, or null if the cost is unknown. */
  readonly cost: number | null;
  readonly onCommand: (command: "compact" | "explainRequest") => void;
}

export function ContextBreakdown({ context, running, cost, onCommand }: ContextBreakdownProps) {
  const slices = contextSlices(context);
  const largest = Math.max(...slices.map((slice) => slice.share), 0);
  return (
    <div class="breakdown">
      <p class="breakdown-head">
        <b class="breakdown-title">{headWords(context)}</b>
        <span class="muted">{roomWords(context)}</span>
      </p>
      {slices.length > 0 && (
        <table class="slices" aria-label={t("Estimated tokens of the next request")}>
          <tbody>
            {slices.map((slice) => (
              <SliceRow key={slice.name} slice={slice} largest={largest} />
            ))}
          </tbody>
        </table>
      )}
      <dl class="facts">
        {facts(context, slices, cost).map((fact) => (
          <div key={fact.name} title={fact.title}>
            <dt>{fact.name}</dt>
            <dd>{fact.value}</dd>
          </div>
        ))}
      </dl>
      <div class="breakdown-actions">
        <button
          type="button"
          class="button secondary"
          data-first
          disabled={running || context.session === null}
          title={running ? t("Wait for the end of the turn") : t("Compact the conversation now")}
          onClick={() => onCommand("compact")}
        >
          {t("Compact now")}
        </button>
        <button
          type="button"
          class="button secondary"
          title={t("Show the next request, block by block")}
          onClick={() => onCommand("explainRequest")}
        >
          {t("Show the request")}
        </button>
      </div>
    </div>
  );
}

interface SliceRowProps {
  readonly slice: ContextSlice;
  /** The largest of all shares, whose bar fills the column. */
  readonly largest: number;
}

function SliceRow({ slice, largest }: SliceRowProps) {
  const cached = t(
    "{0} of {1} tokens cached",
    tokenFigure(slice.cached),
    tokenFigure(slice.tokens),
  );
  return (
    <tr title={cached}>
      <th scope="row">{slice.name}</th>
      <td class="slice-bar" aria-label={cached}>
        <span class="slice-track" aria-hidden="true">
          <span class="slice-all" style={{ width: `${(slice.share / largest) * 100}%` }}>
            <span
              class="slice-cached"
              style={{ width: `${(slice.cached / slice.tokens) * 100}%` }}
            />
          </span>
        </span>
      </td>
      <td class="slice-figure">{tokenFigure(slice.tokens)}</td>
      <td class="slice-figure">{slice.share < 0.01 ? t("<1 %") : shareFigure(slice.share)}</td>
    </tr>
  );
}

function headWords(context: ContextResult): string {
  const used = tokenFigure(context.used);
  if (context.budget === null) return t("Next request: {0} tokens", used);
  const share = context.share === null ? "" : `${shareFigure(context.share)} · `;
  return `${share}${t("{0} of {1} tokens", used, tokenFigure(context.budget))}`;
}

function roomWords(context: ContextResult): string {
  if (context.window === null) return context.model;
  return t(
    "{0} · window {1}, the rest is for the reply",
    context.model,
    tokenFigure(context.window),
  );
}

interface Fact {
  readonly name: string;
  readonly value: string;
  readonly title: string;
}

function facts(
  context: ContextResult,
  slices: readonly ContextSlice[],
  cost: number | null,
): readonly Fact[] {
  const tokens = slices.reduce((total, slice) => total + slice.tokens, 0);
  const cached = slices.reduce((total, slice) => total + slice.cached, 0);
  const rate = cacheHitRate(context.health);
  const origins = tierRows(context.tiers);
  const all: readonly Fact[] = [
    {
      name: t("Cached (solid)"),
      value: t("{0} of {1}", tokenFigure(cached), tokenFigure(tokens)),
      title: t(
        "Sent before, and in front of a cache mark: the provider may read it again for less",
      ),
    },
    {
      name: t("Cache hits so far"),
      value: rate === null ? "" : shareFigure(rate),
      title: t("Share of this session's input that the cache served"),
    },
    {
      name: t("By origin"),
      value: origins.map((row) => `${row.name} ${tokenFigure(row.tokens)}`).join(" · "),
      title: t("Text from others than you and Indwell is data for the model, not instructions"),
    },
    {
      name: t("Window"),
      value: windowWords(context.parts ?? [], tokenFigure),
      title: t("An exchange is a prompt, or a reply with its results; your words are never cut"),
    },
    {
      name: t("Compaction"),
      value: headroomWords(context.headroom, tokenFigure),
      title: t("When older parts of the conversation are shortened next"),
    },
    {
      name: t("Cost so far"),
      value: costFigure(cost) ?? t("not known"),
      title: t("Of this session, with the running turn"),
    },
  ];
  return all.filter((fact) => fact.value !== "");
}
