/** The actions of the composer: sending, choosing a row and clicking a chip. */
import type { RefObject } from "preact";
import { commandOutcome } from "../../shared/commands.ts";
import type { Attachment, PanelState } from "../../shared/state.ts";
import type { Post } from "../view-props.ts";
import { openTarget } from "./chip-words.ts";
import type { DraftKeeper } from "./draft-keeper.ts";
import type { ShownRow } from "./found-rows.ts";
import { sendHow, sendProblem } from "./send-plan.ts";
import { replaceRange } from "./text-edit.ts";
import type { Completion } from "./use-completion.ts";

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
export type ChooseHow = "choose" | "descend";

export interface ComposerActions {
  readonly send: (wished: "send" | "sendNext") => void;
  readonly choose: (shown: ShownRow, how: ChooseHow) => void;
  readonly press: (attachment: Attachment) => void;
}

export function composerActions(parts: Parts): ComposerActions {
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
