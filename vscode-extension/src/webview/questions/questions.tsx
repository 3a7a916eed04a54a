/**
 * Shows the questions that wait for the user, one at a time, the oldest first; each question is
 * announced at once.
 */
import { useEffect, useRef } from "preact/hooks";
import { ownQuestions } from "../../shared/selectors.ts";
import type { Question } from "../../shared/state.ts";
import { visible } from "../../shared/visible.ts";
import type { ViewProps } from "../view-props.ts";
import { AskCard } from "./ask-card.tsx";
import { focusIsLost } from "./focus.ts";
import { PermissionCard } from "./permission-card.tsx";

const SPOKEN = 200; // The maximum number of characters of a text that are announced; the card shows the whole text.

export function Questions({ state, post, channel }: ViewProps) {
  const questions = ownQuestions(state);
  const first = questions[0];
  const place = questions.length > 1 ? `1 of ${questions.length}` : "";
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
  const which = place === "" ? "" : ` (${place})`;
  switch (question.kind) {
    case "permission":
      return `Permission needed${which}: ${visible(question.asked.title)} ${visible(question.asked.reason)}. ${beginning(question.asked.detail)}`;
    case "ask":
      return `${question.by === "model" ? "The model asks" : "Words needed"}${which}: ${visible(question.prompt)}`;
    default:
      return question satisfies never;
  }
}

function beginning(text: string): string {
  const shown = visible(text.slice(0, SPOKEN)).replace(/\s+/g, " ");
  return text.length > SPOKEN ? `${shown} … and more` : shown;
}
