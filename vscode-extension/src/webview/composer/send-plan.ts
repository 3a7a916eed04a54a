/** Decides whether and how text is sent. Pure. */

import { t } from "../../shared/l10n.ts";
import { MOST_WORDS } from "../../shared/messages.ts";
import { canSteer, isBusy } from "../../shared/selectors.ts";
import type { PanelState } from "../../shared/state.ts";
import { grouped } from "../../shared/words.ts";

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
