/** Shows what fills the model's window, slice by slice, with actions to reduce it. */

import type { ContextResult } from "../../protocol.ts";
import { costFigure, shareFigure, tokenFigure } from "../../shared/figures.ts";
import { t } from "../../shared/l10n.ts";
import {
  type ContextSlice,
  cacheHitRate,
  contextSlices,
  headroomWords,
  tierRows,
  windowWords,
} from "./context-slices.ts";

export interface ContextBreakdownProps {
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
