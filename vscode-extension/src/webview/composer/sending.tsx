/**
 * Decides whether and how text is sent, draws the buttons that send or stop, and shows steering
 * text that the running turn has not received yet.
 */
import { t } from "../../shared/l10n.ts";
import { MOST_WORDS } from "../../shared/messages.ts";
import { canSteer, isBusy, runningTurn } from "../../shared/state/selectors.ts";
import type { PanelState } from "../../shared/state/state.ts";
import { grouped } from "../../shared/words.ts";
import { Icon } from "../elements.tsx";

/**
 * Returns why the running turn cannot receive text, in one sentence, or an empty text if the turn
 * can.
 */
export function steerProblem(state: PanelState): string {
  if (!canSteer(state)) return t("The turn has not begun yet. Send next");
  // Steering text has no attachments: only prompts can have them.
  if (state.attachments.some((one) => one.kind !== "context")) {
    return t("Words for the running turn cannot have attachments. Remove the chips, or send next");
  }
  return "";
}

/**
 * Returns the way of sending: text steers the running turn if possible; otherwise the text waits as
 * the next prompt.
 */
export function sendHow(state: PanelState, wished: "send" | "sendNext"): "auto" | "steer" | "next" {
  if (!isBusy(state)) return "auto";
  return wished === "sendNext" || steerProblem(state) !== "" ? "next" : "steer";
}

/**
 * Returns why a text is too long for a prompt, in one sentence, or an empty text if the length is
 * allowed.
 */
export function lengthProblem(text: string): string {
  if (text.length <= MOST_WORDS) return "";
  return t(
    "A prompt takes {0} characters at most, and this one has {1}. Shorten it, or attach a file instead",
    grouped(MOST_WORDS),
    grouped(text.length),
  );
}

/**
 * Returns why no prompt can be sent now, in one sentence, or an empty text if a prompt can be sent.
 */
export function sendProblem(
  state: Pick<PanelState, "connection" | "status" | "attachments">,
  text: string,
): string {
  if (state.connection.kind !== "ready") {
    return state.connection.reason || t("The server is not ready");
  }
  if (text.trim() === "") return t("Write something first");
  if (lengthProblem(text) !== "") return lengthProblem(text);
  const pictures = state.attachments.some((one) => one.kind === "image");
  if (pictures && state.status?.pictures === false) {
    return t("{0} takes no pictures. Remove them, or choose another model", state.status.model);
  }
  return "";
}

export interface SendButtonsProps {
  readonly running: boolean;
  /** Whether the text is empty. */
  readonly empty: boolean;
  /** Why no prompt can be sent, or empty if a prompt can be sent. */
  readonly problem: string;
  /** Why text cannot steer the running turn, or empty if text can. */
  readonly steerProblem: string;
  readonly enterSends: boolean;
  readonly onSend: (wished: "send" | "sendNext") => void;
  readonly onStop: () => void;
}

/**
 * The buttons to send a prompt; while a turn runs, the buttons to steer the turn, to send the
 * prompt next, and to stop.
 */
export function SendButtons(props: SendButtonsProps) {
  const { running, empty, problem, steerProblem, onSend, onStop } = props;
  const [send, next] = props.enterSends
    ? ["Enter", "Ctrl+Enter"]
    : ["Ctrl+Enter", "Ctrl+Shift+Enter"];
  if (!running) {
    return (
      <button
        type="button"
        class="icon-button send"
        aria-label={t("Send")}
        title={problem === "" ? t("Send ({0})", send) : problem}
        aria-disabled={problem !== ""}
        onClick={() => onSend("send")}
      >
        <Icon name="send" />
      </button>
    );
  }
  return (
    <span class="sending">
      {!empty && (
        <fieldset class="send-choice" aria-label={t("Send while the turn runs")}>
          <button
            type="button"
            class="send-way"
            disabled={steerProblem !== "" || problem !== ""}
            title={
              steerProblem !== ""
                ? steerProblem
                : t("Steer: the running turn hears it at its next step ({0})", send)
            }
            onClick={() => onSend("send")}
          >
            {t("Steer")}
          </button>
          <button
            type="button"
            class="send-way"
            disabled={problem !== ""}
            title={t(
              "Next: waits until the turn has ended ({0})",
              steerProblem === "" ? next : send,
            )}
            onClick={() => onSend("sendNext")}
          >
            {t("Next")}
          </button>
        </fieldset>
      )}
      <button
        type="button"
        class="icon-button stop"
        aria-label={t("Stop")}
        title={t("Stop the turn (Escape)")}
        onClick={onStop}
      >
        <span class="stop-sign" aria-hidden="true" />
      </button>
    </span>
  );
}

export interface SteeringWords {
  readonly words: string;
  readonly session: string;
  readonly turn: number;
}

/** Returns `before` with the text that is sent now, or `before` unchanged if no turn runs. */
export function withSteering(
  before: readonly SteeringWords[],
  state: PanelState,
  words: string,
): readonly SteeringWords[] {
  const turn = runningTurn(state);
  if (turn === undefined) return before;
  return [...before, { words: words.trim(), session: turn.session, turn: turn.number }];
}

/**
 * Returns the texts that still wait: the turn runs, no line of the turn shows the text yet, and the
 * text was not returned to `typed`.
 */
export function unheard(
  sent: readonly SteeringWords[],
  state: PanelState,
  typed: string,
): readonly SteeringWords[] {
  const turn = runningTurn(state);
  if (turn === undefined || sent.length === 0) return [];
  const heard = turn.parts.flatMap((part) =>
    part.kind === "line" && part.what === "steered" ? [part.text] : [],
  );
  return sent.filter(
    (one) =>
      one.session === turn.session &&
      one.turn === turn.number &&
      !typed.includes(one.words) &&
      !heard.some((text) => text.includes(one.words)),
  );
}

/** Shows steering text that waits for the turn's next step, so that nobody thinks it is lost. */
export function Steering({ waiting }: { readonly waiting: readonly SteeringWords[] }) {
  if (waiting.length === 0) return null;
  return (
    <ul class="steering" aria-label={t("Words that the model gets at its next step")}>
      {waiting.map((one, index) => (
        <li key={`${index}:${one.words}`} title={one.words}>
          <span class="muted">{t("At the next step:")} </span>
          {one.words.split("\n", 1)[0]}
        </li>
      ))}
    </ul>
  );
}
