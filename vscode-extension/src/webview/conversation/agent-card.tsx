/** Shows the work of a sub-agent: its own calls, each a line that opens, and then its answer. */

import type { ChangeRow } from "../../protocol.ts";
import { t } from "../../shared/l10n.ts";
import { isLastEdit } from "../../shared/last-edit.ts";
import type { ToolPart } from "../../shared/state.ts";
import { agentFigure, going, isGoing, toolLook } from "../../shared/tool-words.ts";
import { Markdown } from "../markdown/markdown.tsx";
import type { Post } from "../view-props.ts";
import { LineRow } from "./line-row.tsx";
import type { OpenCards } from "./open-cards.ts";
import { ToolCard } from "./tool-card.tsx";

interface Props {
  readonly cardKey: string;
  readonly session: string;
  readonly turn: number;
  readonly isLastEdit: boolean;
  readonly part: ToolPart;
  readonly pending: readonly ChangeRow[];
  readonly cards: OpenCards;
  readonly post: Post;
}

/** Draws what the line of an `agent` call opens. */
export function AgentBody(props: Props) {
  const { cardKey, session, turn, part, pending, cards, post } = props;
  return (
    <>
      {part.inner.map((inner) => {
        if (inner.kind === "line") return <LineRow key={inner.key} part={inner} />;
        if (inner.kind !== "tool") return null; // The sub-agent's text is only for the main agent.
        return (
          <ToolCard
            key={inner.key}
            cardKey={`${cardKey}/${inner.key}`}
            session={session}
            turn={turn}
            isLastEdit={props.isLastEdit && isLastEdit(part.inner, inner)}
            isInner
            part={inner}
            pending={pending}
            cards={cards}
            post={post}
          />
        );
      })}
      {isGoing(part) ? <AgentNow part={part} /> : <Answer part={part} post={post} />}
    </>
  );
}

/** Draws the sub-agent's answer, the only part of its text that is shown. */
function Answer({ part, post }: Pick<Props, "part" | "post">) {
  if (part.message !== "") return <p class="tool-message">{part.message}</p>;
  if (part.result === null) return <p class="muted">{t("Loading …")}</p>;
  return <Markdown text={part.result} final post={post} />;
}

/** Draws the current call of a running sub-agent, and its progress. */
export function AgentNow({ part }: { readonly part: ToolPart }) {
  if (!isGoing(part)) return null;
  const call = going(part.inner);
  const words = call === undefined ? t("Thinking") : `${toolLook(call.name).verb} ${call.target}`;
  return (
    <p class="row agent-now muted">
      <span class="agent-words" title={words}>
        {words}
      </span>
      <span class="figure">{agentFigure(part)}</span>
    </p>
  );
}
