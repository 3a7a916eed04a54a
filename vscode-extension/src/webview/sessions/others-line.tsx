/**
 * Shows other sessions in which a turn runs, waits or has ended: a line for each question, and one
 * line for all other sessions, which opens the list.
 */
import { plural, t } from "../../shared/l10n.ts";
import { ownQuestions, sessionOf } from "../../shared/state/selectors.ts";
import type { PanelState, SessionMark, SessionWork } from "../../shared/state/state.ts";
import { behindWords } from "../../shared/words.ts";
import { Icon } from "../elements.tsx";
import type { ViewProps } from "../host/channel.ts";
import { WorkBadge } from "./session-list.tsx";

export function OthersLine({ state, post }: ViewProps) {
  const own = ownQuestions(state);
  const behind = state.questions.filter((one) => !own.includes(one));
  const asking = new Set(behind.map(sessionOf));
  const rest = otherMarks(state).filter((mark) => !asking.has(mark.session));
  if (behind.length === 0 && rest.length === 0) return null;
  const only = rest.length === 1 ? rest[0] : undefined;
  return (
    <section class="others" aria-label={t("Other sessions")}>
      {behind.map((question) => (
        <div key={question.nonce} class="others-row asking">
          <Icon name="question" />
          <span class="others-words">
            {behindWords(question, titleOf(state, sessionOf(question)))}
          </span>
          <button
            type="button"
            class="link-button"
            onClick={() => post({ type: "openSession", session: sessionOf(question) })}
          >
            {t("Show")}
          </button>
        </div>
      ))}
      {only !== undefined && (
        <div class="others-row">
          <WorkBadge work={only.work} />
          <span class="others-words" dir="auto">
            {only.title || t("Another session")}
          </span>
          <button
            type="button"
            class="link-button"
            onClick={() => post({ type: "openSession", session: only.session })}
          >
            {t("Show")}
          </button>
        </div>
      )}
      {rest.length > 1 && (
        <div class="others-row">
          <span class="others-words">{t("Other sessions: {0}", countWords(rest))}</span>
          <button
            type="button"
            class="link-button"
            onClick={() => post({ type: "sessions", query: "", more: false })}
          >
            {t("Show")}
          </button>
        </div>
      )}
    </section>
  );
}

/** Returns the sessions, except for the shown one, in which a turn runs, waits or has ended. */
export function otherMarks(state: PanelState): readonly SessionMark[] {
  return state.marks.filter((mark) => mark.session !== state.session);
}

/** Returns `2 running, 1 done`. */
export function countWords(marks: readonly SessionMark[]): string {
  const order: readonly SessionWork[] = ["asking", "running", "failed", "stopped", "done"];
  return order
    .flatMap((work) => {
      const count = marks.filter((mark) => mark.work === work).length;
      if (count === 0) return [];
      return [workCount(work, count)];
    })
    .join(", ");
}

function workCount(work: SessionWork, count: number): string {
  switch (work) {
    case "asking":
      return plural(count, "{0} asks you", "{0} ask you");
    case "running":
      return t("{0} running", count);
    case "failed":
      return t("{0} failed", count);
    case "stopped":
      return t("{0} stopped", count);
    case "done":
      return t("{0} done", count);
    default:
      return work satisfies never;
  }
}

function titleOf(state: PanelState, session: string): string {
  return state.marks.find((mark) => mark.session === session)?.title ?? "";
}
