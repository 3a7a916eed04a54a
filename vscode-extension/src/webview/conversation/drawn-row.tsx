/** Draws one row of the conversation by its kind. */

import type { ChangeRow, PlanResult } from "../../protocol.ts";
import { plural, t } from "../../shared/l10n.ts";
import type { Part, Turn } from "../../shared/state/state.ts";
import { isLastEdit } from "../../shared/tool-words.ts";
import type { Channel, Post } from "../host/channel.ts";
import { Markdown } from "../markdown/markdown.tsx";
import { EndRow } from "./end-row.tsx";
import { LineRow } from "./line-row.tsx";
import { PromptRow } from "./prompt-row.tsx";
import type { Row } from "./rows.ts";
import { type OpenCards, Thinking, ToolCard } from "./tool-card.tsx";

interface Props {
  readonly row: Row;
  readonly pending: readonly ChangeRow[];
  readonly isLast: boolean;
  /** The plan that waits for the user, or null if no plan waits. */
  readonly plan: PlanResult | null;
  readonly toggle: (key: string) => void;
  readonly cards: OpenCards;
  readonly post: Post;
  readonly channel: Channel;
}

/**
 * Draws a row; each component gets only the data that it shows, so that unchanged components are
 * skipped.
 */
export function DrawnRow({ row, pending, isLast, plan, toggle, cards, post, channel }: Props) {
  switch (row.kind) {
    case "prompt":
      return <PromptRow turn={row.turn} post={post} kept={channel.kept} />;
    case "end":
      return (
        <EndRow
          turn={row.turn}
          isLast={isLast}
          plan={isLast ? plan : null}
          post={post}
          channel={channel}
        />
      );
    case "left":
      return (
        <button type="button" class="thin-line" onClick={() => toggle(row.key)}>
          <span>
            {plural(
              row.turns.length,
              "{0} turn left behind by a rewind",
              "{0} turns left behind by a rewind",
            )}
            {" · "}
            <span class="thin-line-more">{t("show")}</span>
          </span>
        </button>
      );
    case "part":
      return partView(row.turn, row.part, row.key, pending, cards, post);
    default:
      return row satisfies never;
  }
}

function partView(
  turn: Turn,
  part: Part,
  key: string,
  pending: readonly ChangeRow[],
  cards: OpenCards,
  post: Post,
) {
  switch (part.kind) {
    case "text":
      return <Markdown text={part.text} final={part.final} post={post} />;
    case "thinking":
      return <Thinking cardKey={key} part={part} cards={cards} post={post} />;
    case "line":
      return <LineRow part={part} />;
    case "tool":
      return (
        <ToolCard
          cardKey={key}
          session={turn.session}
          turn={turn.number}
          isLastEdit={isLastEdit(turn.parts, part)}
          part={part}
          pending={pending}
          cards={cards}
          post={post}
        />
      );
    default:
      return part satisfies never;
  }
}
