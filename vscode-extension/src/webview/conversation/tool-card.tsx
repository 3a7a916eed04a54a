/** Draws one tool call: a line, which opens to the call's details. */
import { useEffect } from "preact/hooks";
import type { ChangeRow } from "../../protocol.ts";
import { durationFigure, LEAST_TIME } from "../../shared/figures.ts";
import type { ToolPart } from "../../shared/state.ts";
import { isBad, isGoing, outcomeWords, toolLook } from "../../shared/tool-words.ts";
import { memo } from "../memo.tsx";
import type { Post } from "../view-props.ts";
import { AgentBody, AgentNow } from "./agent-card.tsx";
import { CardLine } from "./card-line.tsx";
import { EditCard } from "./edit-card.tsx";
import type { OpenCards } from "./open-cards.ts";
import { ToolDetail } from "./tool-detail.tsx";

/** The tool whose calls start sub-agents. */
const AGENT = "agent";

/** An edit with fewer changed lines is open from the start. */
const SHORT_EDIT = 40;

interface Props {
  readonly cardKey: string;
  readonly session: string;
  readonly turn: number;
  readonly isLastEdit: boolean;
  /**
   * Whether a sub-agent made the call; then the main conversation does not have the call's result.
   */
  readonly isInner?: boolean;
  readonly part: ToolPart;
  readonly pending: readonly ChangeRow[];
  readonly cards: OpenCards;
  readonly post: Post;
}

export const ToolCard = memo((props: Props) => {
  const { cardKey, turn, part, cards, post } = props;
  const look = toolLook(part.name);
  const words = outcomeWords(part);
  const time =
    part.seconds === null || part.seconds < LEAST_TIME ? "" : durationFigure(part.seconds);
  const fetchDetail = () => {
    if (part.output !== "" && lacksDetail(props)) post({ type: "openTool", id: part.id, turn });
  };
  const isAgent = part.name === AGENT;
  return (
    <CardLine
      cardKey={cardKey}
      cards={cards}
      openByDefault={isOpenByDefault(part)}
      icon={isGoing(part) ? "loading" : look.icon}
      spin={part.state === "running"}
      verb={look.verb}
      target={part.target}
      figure={<Figure part={part} words={isAgent ? shortFigure(words) : words} />}
      time={time}
      onOpen={fetchDetail}
      below={isAgent ? <AgentNow part={part} /> : null}
    >
      {() => <Body {...props} />}
    </CardLine>
  );
});

/**
 * Draws an open card. A missing result is requested, even if the call ends while the card is open.
 */
function Body(props: Props) {
  const { turn, part, post } = props;
  const isEmpty = part.output === "" && lacksDetail(props);
  useEffect(() => {
    if (isEmpty) post({ type: "openTool", id: part.id, turn });
  }, [isEmpty, part.id, turn, post]);
  if (part.name === AGENT) return <AgentBody {...props} />;
  if (part.diffs.length > 0) return <Edits {...props} />;
  return <ToolDetail part={part} isInner={props.isInner ?? false} post={post} />;
}

/** Returns whether the host can fetch missing details; for the call of a sub-agent, it cannot. */
function lacksDetail({ part, isInner }: Props): boolean {
  return part.result === null && part.diffs.length === 0 && !isGoing(part) && isInner !== true;
}

function Edits({ session, turn, part, pending, isLastEdit, post }: Props) {
  return part.diffs.map((edit) => (
    <EditCard
      key={edit.path}
      edit={edit}
      isAlone={part.diffs.length === 1}
      turn={turn}
      rows={
        isLastEdit
          ? pending.filter(
              (row) => row.turn === turn && row.session === session && row.path === edit.path,
            )
          : []
      }
      post={post}
    />
  ));
}

/**
 * Returns only the tokens of a figure such as `3 rounds, 12k tokens`, because the description of
 * the task needs the space.
 */
function shortFigure(words: string): string {
  return words.split(", ").at(-1) ?? words;
}

function isOpenByDefault(part: ToolPart): boolean {
  if (part.diffs.length > 0) {
    return part.diffs.reduce((sum, edit) => sum + edit.added + edit.removed, 0) <= SHORT_EDIT;
  }
  return part.state === "running" && part.output !== "";
}

/**
 * Draws the figure: for an edit in the colours of added and removed lines, for a failure in red.
 */
function Figure({ part, words }: { readonly part: ToolPart; readonly words: string }) {
  const counts = /^\+(\d+) [−-](\d+)$/.exec(words);
  if (counts === null) return <span class={isBad(part) ? "failed" : ""}>{words}</span>;
  return (
    <>
      <span class="added">+{counts[1]}</span> <span class="removed">−{counts[2]}</span>
    </>
  );
}
