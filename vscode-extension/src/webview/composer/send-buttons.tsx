/**
 * The buttons to send a prompt; while a turn runs, the buttons to steer the turn, to send the
 * prompt next, and to stop.
 */
import { t } from "../../shared/l10n.ts";
import { Icon } from "../icon.tsx";

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
