/**
 * Draws the lines that open: a tool call with its details, a sub-agent with its own calls, and the
 * model's reasoning.
 */
import type { ComponentChildren } from "preact";
import { useEffect, useState } from "preact/hooks";
import type { ChangeRow } from "../../protocol.ts";
import { t } from "../../shared/l10n.ts";
import type { TextPart, ToolPart } from "../../shared/state/state.ts";
import {
  agentFigure,
  going,
  isBad,
  isGoing,
  isLastEdit,
  outcomeWords,
  toolLook,
} from "../../shared/tool-words.ts";
import { durationFigure, LEAST_TIME } from "../../shared/words.ts";
import { Icon, memo } from "../elements.tsx";
import type { Post } from "../host/channel.ts";
import { Markdown } from "../markdown/markdown.tsx";
import { EditCard } from "./edit-card.tsx";
import { LineRow } from "./line-row.tsx";
import { ToolDetail } from "./tool-detail.tsx";

/** Remembers the cards that the user opened or closed, because rows are removed while scrolling. */
export class OpenCards {
  readonly #chosen = new Map<string, boolean>();

  isOpen(key: string, byDefault: boolean): boolean {
    return this.#chosen.get(key) ?? byDefault;
  }

  choose(key: string, open: boolean): void {
    this.#chosen.set(key, open);
  }
}

interface CardLineProps {
  readonly cardKey: string;
  readonly cards: OpenCards;
  readonly openByDefault: boolean;
  readonly icon: string;
  readonly spin?: boolean;
  readonly verb: string;
  readonly target: string;
  readonly figure: ComponentChildren;
  readonly time: string;
  /** Content that is drawn below the line while the card is closed. */
  readonly below?: ComponentChildren;
  /** Called when the user opens the card. */
  readonly onOpen?: () => void;
  /** Content that is drawn only while the card is open. */
  readonly children: () => ComponentChildren;
}

/** Draws a line and, below it, the content of the open card. */
function CardLine(props: CardLineProps) {
  const {
    cardKey,
    cards,
    openByDefault,
    icon,
    spin,
    verb,
    target,
    figure,
    time,
    onOpen,
    below,
    children,
  } = props;
  const [, again] = useState(0);
  const isOpen = cards.isOpen(cardKey, openByDefault);
  const toggle = () => {
    cards.choose(cardKey, !isOpen);
    if (!isOpen) onOpen?.();
    again((count) => count + 1);
  };
  return (
    <div class={isOpen ? "tool open" : "tool"}>
      <button type="button" class="tool-line" aria-expanded={isOpen} onClick={toggle}>
        <Icon name={isOpen ? "chevron-down" : "chevron-right"} />
        <Icon name={icon} spin={spin ?? false} />
        <span class="tool-words">
          <span class="tool-verb">{verb}</span>
          {target !== "" && (
            <span class="tool-target" title={target}>
              {" "}
              {target}
            </span>
          )}
        </span>
        <span class="figure">{figure}</span>
        {time !== "" && <span class="figure tool-time">{time}</span>}
      </button>
      {!isOpen && below}
      {isOpen && <div class="tool-body">{children()}</div>}
    </div>
  );
}

interface ThinkingProps {
  readonly cardKey: string;
  readonly part: TextPart;
  readonly cards: OpenCards;
  readonly post: Post;
}

/** Draws the model's reasoning: one line with its seconds, which opens to the text. */
export const Thinking = memo(({ cardKey, part, cards, post }: ThinkingProps) => {
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

interface AgentCardProps {
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
function AgentBody(props: AgentCardProps) {
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
function Answer({ part, post }: Pick<AgentCardProps, "part" | "post">) {
  if (part.message !== "") return <p class="tool-message">{part.message}</p>;
  if (part.result === null) return <p class="muted">{t("Loading …")}</p>;
  return <Markdown text={part.result} final post={post} />;
}

/** Draws the current call of a running sub-agent, and its progress. */
function AgentNow({ part }: { readonly part: ToolPart }) {
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

/** The tool whose calls start sub-agents. */
const AGENT = "agent";

/** An edit with fewer changed lines is open from the start. */
const SHORT_EDIT = 40;

interface ToolCardProps {
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

export const ToolCard = memo((props: ToolCardProps) => {
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
function Body(props: ToolCardProps) {
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
function lacksDetail({ part, isInner }: ToolCardProps): boolean {
  return part.result === null && part.diffs.length === 0 && !isGoing(part) && isInner !== true;
}

function Edits({ session, turn, part, pending, isLastEdit, post }: ToolCardProps) {
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
