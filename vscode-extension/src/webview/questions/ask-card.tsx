/** A question for a line of words. */
import { useEffect, useRef, useState } from "preact/hooks";
import type { Question } from "../../shared/state.ts";
import { visible } from "../../shared/visible.ts";
import type { ViewProps } from "../view-props.ts";
import { offerFocus } from "./focus.ts";

interface Props extends Pick<ViewProps, "post" | "channel"> {
  readonly question: Extract<Question, { kind: "ask" }>;
  readonly place: string;
}

export function AskCard({ question, place, post, channel }: Props) {
  const { nonce } = question;
  const field = useRef<HTMLInputElement>(null);
  const key = `ask ${nonce}`;
  const [text, setText] = useState(channel.kept.draft(key) ?? "");
  const sent = useRef(false);
  useEffect(() => offerFocus(field.current), []);
  useEffect(
    () => channel.onFocus((where) => where === "question" && field.current?.focus()),
    [channel],
  );
  const say = (words: string | null) => {
    if (sent.current) return;
    sent.current = true;
    channel.kept.keepDraft(key, null);
    post({ type: "said", nonce, text: words });
  };
  return (
    <form
      class="question card"
      aria-labelledby={`${nonce}-title`}
      onSubmit={(event) => {
        event.preventDefault();
        if (text.trim() !== "") say(text);
      }}
      onKeyDown={(event) => {
        if (event.key !== "Escape" || event.isComposing) return;
        event.stopPropagation();
        say(null);
      }}
    >
      <header class="row question-head">
        <label id={`${nonce}-title`} for={`${nonce}-field`}>
          {visible(question.prompt)}
        </label>
        {place !== "" && <span class="figure">{place}</span>}
      </header>
      <input
        ref={field}
        id={`${nonce}-field`}
        class="field"
        type="text"
        value={text}
        placeholder={question.placeholder}
        onInput={(event) => {
          setText(event.currentTarget.value);
          channel.kept.keepDraft(key, event.currentTarget.value);
        }}
      />
      <div class="answers">
        <button type="button" class="button secondary" onClick={() => say(null)}>
          Cancel
        </button>
        <button type="submit" class="button" aria-disabled={text.trim() === ""}>
          Answer
        </button>
      </div>
    </form>
  );
}
