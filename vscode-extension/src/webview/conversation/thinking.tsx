/** Draws the model's reasoning: one line with its seconds, which opens to the text. */

import { durationFigure } from "../../shared/figures.ts";
import { t } from "../../shared/l10n.ts";
import type { TextPart } from "../../shared/state.ts";
import { Markdown } from "../markdown/markdown.tsx";
import { memo } from "../memo.tsx";
import type { Post } from "../view-props.ts";
import { CardLine } from "./card-line.tsx";
import type { OpenCards } from "./open-cards.ts";

interface Props {
  readonly cardKey: string;
  readonly part: TextPart;
  readonly cards: OpenCards;
  readonly post: Post;
}

export const Thinking = memo(({ cardKey, part, cards, post }: Props) => {
  const time = part.ms === null || !part.final ? "" : durationFigure(part.ms / 1000);
  return (
    <CardLine
      cardKey={cardKey}
      cards={cards}
      openByDefault={false}
      icon={part.final ? "lightbulb" : "loading"}
      spin={!part.final}
      verb={t("Thinking")}
      target=""
      figure=""
      time={time}
    >
      {() => (
        <div class="thinking">
          <Markdown text={part.text} final={part.final} post={post} />
        </div>
      )}
    </CardLine>
  );
});
