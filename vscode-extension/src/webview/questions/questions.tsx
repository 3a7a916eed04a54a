/**
 * Shows the questions that wait for the user, one at a time, the oldest first; each question is
 * announced at once.
 */

import { useEffect, useRef } from "preact/hooks";
import { t } from "../../shared/l10n.ts";
import { ownQuestions } from "../../shared/state/selectors.ts";
import type { Question } from "../../shared/state/state.ts";
import { visible } from "../../shared/visible.ts";
import type { ViewProps } from "../host/channel.ts";
import { focusIsLost } from "./arming.ts";
import { AskCard } from "./ask-card.tsx";
import { PermissionCard } from "./permission-card.tsx";

const SPOKEN = 200; // The maximum number of characters of a text that are announced; the card shows the whole text.

export function Questions({ state, post, channel }: ViewProps) {
  const questions = ownQuestions(state);
  const first = questions[0];
  const place = questions.length > 1 ? t("1 of {0}", questions.length) : "";
  const had = useRef(false);
  useEffect(() => {
    if (first === undefined && had.current && focusIsLost()) channel.focus("composer");
    had.current = first !== undefined;
  }, [first]);
  return (
    <>
      <div class="sr-only" aria-live="assertive">
        {first === undefined ? "" : announcement(first, place)}
      </div>
      {first?.kind === "permission" && (
        <PermissionCard
          key={first.nonce}
          question={first}
          place={place}
          post={post}
          channel={channel}
        />
      )}
      {first?.kind === "ask" && (
        <AskCard key={first.nonce} question={first} place={place} post={post} channel={channel} />
      )}
    </>
  );
}

function announcement(question: Question, place: string): string {
  switch (question.kind) {
    case "permission":
      return t(
        "Permission needed: {0} {1}. {2}",
        placed(visible(question.asked.title), place),
        visible(question.asked.reason),
        beginning(question.asked.detail),
      );
    case "ask":
      return question.by === "model"
        ? t("The model asks: {0}", placed(visible(question.prompt), place))
        : t("Words needed: {0}", placed(visible(question.prompt), place));
    default:
      return question satisfies never;
  }
}

function placed(words: string, place: string): string {
  return place === "" ? words : `(${place}) ${words}`;
}

function beginning(text: string): string {
  const shown = visible(text.slice(0, SPOKEN)).replace(/\s+/g, " ");
  return text.length > SPOKEN ? t("{0} … and more", shown) : shown;
}
