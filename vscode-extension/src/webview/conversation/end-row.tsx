/** Draws the row below an ended turn: an unusual ending, the changes, and the possible actions. */

import { useState } from "preact/hooks";
import type { PlanResult } from "../../protocol.ts";
import { t } from "../../shared/l10n.ts";
import type { ToHost } from "../../shared/messages.ts";
import type { Turn } from "../../shared/state/state.ts";
import {
  costFigure,
  durationFigure,
  endingWords,
  LEAST_TIME,
  plainSentence,
  tokenFigure,
} from "../../shared/words.ts";
import { Icon, memo, usePressOnce } from "../elements.tsx";
import type { Channel, Post } from "../host/channel.ts";
import { PlanCard } from "../work/plan.tsx";

interface Props {
  readonly turn: Turn;
  readonly isLast: boolean;
  /** The plan that waits for the user, or null if no plan waits or this turn is not the last. */
  readonly plan: PlanResult | null;
  readonly post: Post;
  readonly channel: Channel;
}

export const EndRow = memo(({ turn, isLast, plan, post, channel }: Props) => {
  const [isRewinding, setRewinding] = useState(false);
  const once = usePressOnce(turn);
  return (
    <div class="end">
      <Ending turn={turn} isLast={isLast} post={post} />
      {turn.verified !== "" && <p class="end-verified">{sentence(turn.verified)}</p>}
      {plan !== null && <PlanCard plan={plan} post={post} channel={channel} />}
      <div class="end-line">
        <span class="figure end-figures" title={spent(turn)}>
          <span aria-hidden="true">{figures(turn)}</span>
          <span class="sr-only">{spent(turn)}</span>
        </span>
        <div class="turn-tools" role="toolbar" aria-label={t("Turn {0}", turn.number)}>
          <Tool
            icon="copy"
            words={t("Copy the answer")}
            press={() => post({ type: "copy", text: answerOf(turn) })}
          />
          <Tool
            icon="refresh"
            words={t("Retry: go back and send the same words again")}
            waits={once.pressed}
            press={() =>
              once.press(() => post({ type: "resend", turn: turn.number, text: turn.words }))
            }
          />
          {!isLast && (
            <Tool
              icon="discard"
              words={t("Rewind to here")}
              press={() => setRewinding(!isRewinding)}
            />
          )}
          <Tool
            icon="repo-forked"
            words={t("Fork: go on from here in a new session")}
            waits={once.pressed}
            press={() => once.press(() => post({ type: "fork", turn: turn.number }))}
          />
        </div>
      </div>
      {isRewinding && <Rewind turn={turn.number} close={() => setRewinding(false)} post={post} />}
    </div>
  );
});

function sentence(words: string): string {
  return `${words.charAt(0).toUpperCase()}${words.slice(1)}`;
}

/** Returns the model's text of a turn, as Markdown. */
function answerOf(turn: Turn): string {
  return turn.parts
    .flatMap((part) => (part.kind === "text" ? [part.text.trim()] : []))
    .join("\n\n");
}

interface ToolProps {
  readonly icon: string;
  readonly words: string;
  /** Whether the button was already pressed, without an outcome yet. */
  readonly waits?: boolean;
  readonly press: () => void;
}

function Tool({ icon, words, waits = false, press }: ToolProps) {
  return (
    <button
      type="button"
      class="icon-button"
      title={words}
      aria-label={words}
      aria-disabled={waits}
      onClick={press}
    >
      <Icon name={icon} />
    </button>
  );
}

function figures(turn: Turn): string {
  // A turn without time and cost needs no figure.
  const time =
    turn.seconds === null || turn.seconds < LEAST_TIME ? null : durationFigure(turn.seconds);
  const cost = turn.cost === 0 ? null : costFigure(turn.cost);
  return [time, cost].filter((one) => one !== null).join(" · ");
}

function spent(turn: Turn): string {
  const [read, cached] = [tokenFigure(turn.input), tokenFigure(turn.cached)];
  const written = tokenFigure(turn.output);
  const tokens =
    turn.thinking === 0
      ? t("{0} tokens in ({1} cached), {2} out", read, cached, written)
      : t(
          "{0} tokens in ({1} cached), {2} out (about {3} thinking)",
          read,
          cached,
          written,
          tokenFigure(turn.thinking),
        );
  return [figures(turn), tokens, turn.model].filter((one) => one !== "").join(" · ");
}

function Ending({ turn, isLast, post }: Omit<Props, "channel" | "plan">) {
  const words = endingWords(turn.ending);
  const [isOpen, setOpen] = useState(false);
  const once = usePressOnce(turn);
  if (words === "" && turn.message === "") return null;
  const isFailed = turn.ending === "failed";
  return (
    <div class={isFailed ? "ending bad" : "ending"}>
      <Icon name={isFailed ? "error" : turn.ending === "done" ? "info" : "circle-slash"} />
      <div class="ending-words">
        <p>{hasOwnWords(turn) ? `${words}.` : plainSentence(turn.message)}</p>
        {isLast && turn.ending !== "done" && (
          <div class="button-row">
            {canContinue(turn) && (
              <button
                type="button"
                class="button"
                title={t("Goes on from there; nothing runs again by itself")}
                aria-disabled={once.pressed}
                onClick={() => once.press(() => post(continueMessage(turn)))}
              >
                {t("Continue")}
              </button>
            )}
            {turn.ending === "failed" || turn.retryable ? (
              <button
                type="button"
                class={canContinue(turn) ? "button secondary" : "button"}
                aria-disabled={once.pressed}
                onClick={() => once.press(() => post({ type: "retry" }))}
              >
                {t("Retry now")}
              </button>
            ) : null}
            {turn.remedy === "key" && (
              <button
                type="button"
                class="button secondary"
                onClick={() => post({ type: "command", command: "connect" })}
              >
                {t("Change key")}
              </button>
            )}
            {isFailed && (turn.remedy === "key" || turn.remedy === "model") && (
              <button
                type="button"
                class="button secondary"
                onClick={() => post({ type: "command", command: "chooseModel" })}
              >
                {t("Choose model")}
              </button>
            )}
            {isFailed && (
              <button
                type="button"
                class="link-button"
                aria-expanded={isOpen}
                onClick={() => setOpen(!isOpen)}
              >
                {t("Details")}
              </button>
            )}
          </div>
        )}
        {isOpen && <Details turn={turn} post={post} />}
      </div>
    </div>
  );
}

/**
 * Returns whether the turn's message replaces the usual text; the answer does not change after a
 * reload.
 */
function hasOwnWords(turn: Turn): boolean {
  return turn.message === "" || turn.ending === "interrupted";
}

/** Returns whether the turn can continue; a turn whose prompt was returned as a draft cannot. */
function canContinue(turn: Turn): boolean {
  return turn.ending !== "done" && turn.parts.some(({ kind }) => kind !== "line");
}

/**
 * Returns the message that continues a turn. If Indwell itself ended during the turn, the server
 * explains this to the model; otherwise a short prompt is enough.
 */
function continueMessage(turn: Turn): ToHost {
  return turn.ending === "interrupted"
    ? { type: "command", command: "continue" }
    : { type: "send", text: t("Continue."), how: "alone" };
}

function Details({ turn, post }: { readonly turn: Turn; readonly post: Post }) {
  return (
    <div class="ending-details">
      <p>{t("{0}. Model {1}. {2}", endingWords(turn.ending), turn.model, spent(turn))}</p>
      <button
        type="button"
        class="link-button"
        onClick={() => post({ type: "command", command: "showLog" })}
      >
        {t("Show the log")}
      </button>
    </div>
  );
}

interface RewindProps {
  readonly turn: number;
  readonly close: () => void;
  readonly post: Post;
}

function Rewind({ turn, close, post }: RewindProps) {
  const rewind = (files: boolean) => {
    close();
    post({ type: "rewind", turn, files });
  };
  return (
    // biome-ignore lint/a11y/useSemanticElements: buttons that belong to one question
    <div
      class="rewind card"
      role="group"
      aria-label={t("Rewind to here")}
      onKeyDown={(event) => {
        if (event.key === "Escape") close();
      }}
    >
      <p>
        {t("Go on from the end of this turn. Later turns are left behind and can be shown again.")}
      </p>
      <div class="button-row">
        <button type="button" class="button" onClick={() => rewind(false)}>
          {t("Rewind, keep files")}
        </button>
        <button type="button" class="button secondary" onClick={() => rewind(true)}>
          {t("Rewind files too")}
        </button>
        <button type="button" class="button secondary" onClick={close}>
          {t("Cancel")}
        </button>
      </div>
    </div>
  );
}
