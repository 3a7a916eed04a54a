/**
 * Draws the composer (the text, its chips and lists, the queue and the footer) and carries out its
 * actions: to send, to choose a row of a list, to press a chip.
 */
import type { RefObject } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { commandOutcome } from "../../shared/commands.ts";
import { t } from "../../shared/l10n.ts";
import { isBusy, ownWaiting } from "../../shared/state/selectors.ts";
import type { Attachment, PanelState } from "../../shared/state/state.ts";
import { Icon } from "../elements.tsx";
import type { Post, ViewProps } from "../host/channel.ts";
import { useAttach, useDrop } from "./attaching.ts";
import { Chips, focusChip, openTarget } from "./chips.tsx";
import { type Completion, CompletionList, type ShownRow, useCompletion } from "./completion.tsx";
import { type DraftKeeper, useDraft } from "./draft.ts";
import { Footer } from "./footer.tsx";
import { Queue } from "./queue.tsx";
import {
  lengthProblem,
  Steering,
  type SteeringWords,
  sendHow,
  sendProblem,
  steerProblem,
  unheard,
  withSteering,
} from "./sending.tsx";
import { replaceRange, TextBox } from "./text-box.tsx";

interface Parts {
  readonly state: PanelState;
  readonly post: Post;
  readonly keeper: DraftKeeper;
  readonly completion: Completion;
  readonly box: RefObject<HTMLTextAreaElement | null>;
  /** Called with the text and the way in which it was sent, which is null for a command. */
  readonly onSent: (words: string, how: "auto" | "steer" | "next" | null) => void;
}

/**
 * The way to choose a row: `descend` completes the typed text further (a folder, a command) instead
 * of accepting it.
 */
type ChooseHow = "choose" | "descend";

interface ComposerActions {
  readonly send: (wished: "send" | "sendNext") => void;
  readonly choose: (shown: ShownRow, how: ChooseHow) => void;
  readonly press: (attachment: Attachment) => void;
}

/** The actions of the composer: sending, choosing a row and clicking a chip. */
function composerActions(parts: Parts): ComposerActions {
  return {
    send: (wished) => send(parts, wished),
    choose: (shown, how) => choose(parts, shown, how),
    press: (attachment) => press(parts, attachment),
  };
}

function outcomeOf({ state }: Parts, text: string) {
  const models = state.models?.map((model) => model.name) ?? [];
  const { modes = [], efforts = [] } = state.status ?? {};
  return commandOutcome(text, { modes, models, efforts });
}

function send(parts: Parts, wished: "send" | "sendNext"): void {
  const { state, post, keeper, completion, box } = parts;
  const words = keeper.text;
  const how = sendHow(state, wished);
  completion.done();
  const outcome = outcomeOf(parts, words);
  switch (outcome.kind) {
    case "complete":
      keeper.put(outcome.text);
      return;
    case "post":
      // Commands work even while no prompt can be sent, because /restart is meant for that case.
      post(outcome.message);
      break;
    case "none":
      if (sendProblem(state, words) !== "") return;
      post({ type: "send", text: words, how });
      break;
    default:
      outcome satisfies never;
  }
  keeper.sent();
  parts.onSent(words, outcome.kind === "none" ? how : null);
  box.current?.focus();
}

function choose(parts: Parts, { row }: ShownRow, how: ChooseHow): void {
  const { completion, box, post } = parts;
  const { token } = completion;
  if (token === null || box.current === null) return;
  if (row.kind === "command" || row.kind === "skill") {
    chooseCommand(parts, box.current, token.end, row.value, how);
  } else if (row.kind === "resource") {
    replaceRange(box.current, token.start, token.end, `${row.value} `);
    completion.done();
  } else if (row.kind === "narrow" || (how === "descend" && row.kind === "folder")) {
    replaceRange(box.current, token.start, token.end, `@${row.value}`);
  } else {
    replaceRange(box.current, token.start, token.end, isNoun(row.kind) ? `@${row.label} ` : "");
    completion.done();
    post({ type: "attachMention", value: row.value, label: row.label });
  }
}

/** Whether a chosen row stays in the text as a name, so that the sentence around it is whole. */
function isNoun(kind: ShownRow["row"]["kind"]): boolean {
  return kind === "file" || kind === "folder" || kind === "symbol";
}

function chooseCommand(
  parts: Parts,
  box: HTMLTextAreaElement,
  end: number,
  value: string,
  how: ChooseHow,
): void {
  const outcome = outcomeOf(parts, value);
  if (how === "choose" && outcome.kind === "post") {
    replaceRange(box, 0, end, "");
    parts.completion.done();
    parts.post(outcome.message);
  } else if (outcome.kind === "complete") {
    replaceRange(box, 0, end, outcome.text);
  } else {
    replaceRange(box, 0, end, `${value} `);
    parts.completion.done();
  }
}

function press({ box, post }: Parts, attachment: Attachment): void {
  if (attachment.kind === "mention" && !attachment.path.endsWith("/")) {
    post({ type: "openFile", target: openTarget(attachment.path) });
  }
  if (attachment.kind === "text" && box.current !== null) {
    const caret = box.current.selectionEnd;
    replaceRange(box.current, caret, caret, attachment.text);
    post({ type: "unattach", id: attachment.id });
  }
}

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
