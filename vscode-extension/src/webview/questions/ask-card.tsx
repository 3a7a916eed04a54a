/**
 * A question whose answer is a text or one of several options. A question of the model says that
 * the model asks.
 */

import { useEffect, useRef, useState } from "preact/hooks";
import { t } from "../../shared/l10n.ts";
import type { Question } from "../../shared/state/state.ts";
import { visible } from "../../shared/visible.ts";
import { Icon } from "../elements.tsx";
import type { ViewProps } from "../host/channel.ts";
import { Early } from "./answers.tsx";
import { offerFocus } from "./arming.ts";
import { useArming } from "./use-arming.ts";

const OWN_WORDS = t("Or in your own words");

interface Props extends Pick<ViewProps, "post" | "channel"> {
  readonly question: Extract<Question, { kind: "ask" }>;
  readonly place: string;
}

export function AskCard({ question, place, post, channel }: Props) {
  const { nonce, options } = question;
  const isModel = question.by === "model";
  const card = useRef<HTMLFormElement>(null);
  const field = useRef<HTMLInputElement>(null);
  const key = `ask ${nonce}`;
  const [text, setText] = useState(channel.kept.draft(key) ?? "");
  const sent = useRef(false);
  const { armed, isArmed, wasQuiet, early, tooEarly } = useArming(card, nonce, field);
  useEffect(() => offerFocus(field.current), []);
  useEffect(
    () => channel.onFocus((where) => where === "question" && field.current?.focus()),
    [channel],
  );
  const once = (send: () => void) => {
    if (sent.current) return;
    sent.current = true;
    channel.kept.keepDraft(key, null);
    send();
  };
  // An answer that was meant for the previous question is ignored.
  const say = (words: string | null, key: string) => {
    if (wasQuiet()) once(() => post({ type: "said", nonce, text: words }));
    else tooEarly(key);
  };
  const choose = (option: number) => {
    if (isArmed()) once(() => post({ type: "chosen", nonce, option }));
    else tooEarly("");
  };
  return (
    <form
      ref={card}
      class={isModel ? "question card of-model" : "question card"}
      aria-labelledby={`${nonce}-title`}
      data-armed={armed}
      onSubmit={(event) => {
        event.preventDefault();
        if (text.trim() !== "") say(text, "Enter");
      }}
      onKeyDown={(event) => {
        if (event.key !== "Escape" || event.isComposing) return;
        event.stopPropagation();
        say(null, "Escape");
      }}
    >
      <header class="row question-head">
        {isModel && (
          <span class="row muted of-model-who">
            <Icon name="comment-discussion" />
            {t("The model asks")}
          </span>
        )}
        {!isModel && <Prompt question={question} />}
        {place !== "" && <span class="figure">{place}</span>}
      </header>
      {(isModel || options.length > 0) && (
        <div class="question-body">
          {isModel && <Prompt question={question} />}
          {options.length > 0 && (
            <ul class="asked-options" aria-label={t("Available answers")}>
              {options.map((option, index) => (
                <li key={`${index}:${option}`}>
                  <button
                    type="button"
                    class="button secondary asked-option"
                    dir="auto"
                    aria-disabled={!armed}
                    onClick={() => choose(index)}
                  >
                    {visible(option)}
                  </button>
                </li>
              ))}
            </ul>
          )}
        </div>
      )}
      <input
        ref={field}
        id={`${nonce}-field`}
        class="field"
        dir="auto"
        type="text"
        value={text}
        aria-labelledby={`${nonce}-title`}
        placeholder={question.placeholder || (options.length > 0 ? OWN_WORDS : "")}
        onInput={(event) => {
          setText(event.currentTarget.value);
          channel.kept.keepDraft(key, event.currentTarget.value);
        }}
      />
      <div class="answers">
        <button type="button" class="button secondary" onClick={() => say(null, "")}>
          {isModel ? t("No answer") : t("Cancel")}
        </button>
        <button type="submit" class="button" aria-disabled={text.trim() === ""}>
          {t("Answer")}
        </button>
        <Early words={early} />
      </div>
    </form>
  );
}

function Prompt({ question }: { readonly question: Props["question"] }) {
  const { nonce, prompt } = question;
  return (
    <label id={`${nonce}-title`} for={`${nonce}-field`} class="asked-prompt" dir="auto">
      {visible(prompt)}
    </label>
  );
}
