/**
 * Draws the composer: the text, its chips and lists, the queue, and the footer with the send
 * buttons.
 */

import { useEffect, useRef, useState } from "preact/hooks";
import { t } from "../../shared/l10n.ts";
import { isBusy, ownWaiting } from "../../shared/selectors.ts";
import { Icon } from "../icon.tsx";
import type { ViewProps } from "../view-props.ts";
import { Chips, focusChip } from "./chips.tsx";
import { CompletionList } from "./completion-list.tsx";
import { composerActions } from "./composer-actions.ts";
import { Footer } from "./footer.tsx";
import { Queue } from "./queue.tsx";
import { lengthProblem, sendProblem, steerProblem } from "./send-plan.ts";
import { Steering } from "./steering.tsx";
import { type SteeringWords, unheard, withSteering } from "./steering-words.ts";
import { TextBox } from "./text-box.tsx";
import { useAttach } from "./use-attach.ts";
import { useCompletion } from "./use-completion.ts";
import { useDraft } from "./use-draft.ts";
import { useDrop } from "./use-drop.ts";

export function Composer({ state, post, channel }: ViewProps) {
  const box = useRef<HTMLTextAreaElement>(null);
  const chips = useRef<HTMLDivElement>(null);
  const { keeper, text } = useDraft(post, channel, box);
  const offered = {
    modes: state.status?.modes ?? [],
    models: state.models ?? [],
    efforts: state.status?.efforts ?? [],
  };
  const completion = useCompletion(channel, post, offered);
  const attach = useAttach(state, post);
  const drop = useDrop(attach.uris, attach.files);
  const [steering, setSteering] = useState<readonly SteeringWords[]>([]);
  const running = isBusy(state);
  const problem = sendProblem(state, text);

  useEffect(
    () =>
      channel.onFocus((where) => {
        if (where === "composer") box.current?.focus();
      }),
    [channel],
  );

  const { send, choose, press } = composerActions({
    state,
    post,
    keeper,
    completion,
    box,
    onSent: (words, how) => {
      attach.forget();
      if (how === "steer") setSteering(withSteering(steering, state, words));
    },
  });

  return (
    <div class="composer" {...drop.events}>
      <Queue
        queue={ownWaiting(state)}
        kept={channel.kept}
        post={post}
        onLost={(words) => keeper.put(keeper.text === "" ? words : `${keeper.text}\n\n${words}`)}
      />
      <Steering waiting={unheard(steering, state, text)} />
      {attach.problem !== "" && (
        <div class="composer-problem" role="alert">
          <span>{attach.problem}</span>
          <button
            type="button"
            class="icon-button"
            aria-label={t("Close")}
            title={t("Close")}
            onClick={attach.forget}
          >
            <Icon name="close" />
          </button>
        </div>
      )}
      {lengthProblem(text) !== "" && (
        <p class="composer-problem" role="alert">
          {lengthProblem(text)}
        </p>
      )}
      <div class="input">
        {completion.open && (
          <CompletionList
            rows={completion.rows}
            at={completion.at}
            label={completion.token?.what === "@" ? t("Context") : t("Commands")}
            onChoose={(row) => choose(row, "choose")}
            onHover={completion.point}
          />
        )}
        <TextBox
          box={box}
          text={text}
          keeper={keeper}
          completion={completion}
          running={running}
          enterSends={state.looks.enterSends}
          history={state.history}
          onPaste={attach.paste}
          onSend={send}
          onStop={() => post({ type: "stop" })}
          onChoose={choose}
          onLastChip={() => focusChip(chips, state.attachments.length === 0 ? 1 : -1)}
        />
        <Chips
          attachments={state.attachments}
          box={chips}
          onPress={press}
          onRemove={(id) => post({ type: "unattach", id })}
          onAdd={() => post({ type: "pickContext" })}
          onLeave={() => box.current?.focus()}
        />
        {drop.over && (
          <div class="drop-hint">
            <Icon name="attach" />
            <span>{t("Drop files or pictures to attach them")}</span>
          </div>
        )}
      </div>
      <Footer
        state={state}
        post={post}
        sending={{
          running,
          problem,
          empty: text.trim() === "",
          steerProblem: steerProblem(state),
          enterSends: state.looks.enterSends,
          onSend: send,
          onStop: () => post({ type: "stop" }),
        }}
      />
    </div>
  );
}
