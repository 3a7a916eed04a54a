/** How words go out, and whether they can. Pure. */

import { MOST_WORDS } from "../../shared/messages.ts";
import { canSteer, isBusy } from "../../shared/selectors.ts";
import type { PanelState } from "../../shared/state.ts";
import { grouped } from "../../shared/words.ts";

/** Why words cannot be given to the running turn, in one sentence; empty if they can. */
export function steerProblem(state: PanelState): string {
  if (!canSteer(state)) return "The turn has not begun yet. Send next";
  // What steers a turn carries nothing: the server attaches things to prompts only.
  if (state.attachments.some((one) => one.kind !== "context")) {
    return "Words for the running turn cannot have attachments. Remove the chips, or send next";
  }
  return "";
}

/** How a send goes out: while a turn runs the words steer it if they can, else they wait. */
export function sendHow(state: PanelState, wished: "send" | "sendNext"): "auto" | "steer" | "next" {
  if (!isBusy(state)) return "auto";
  return wished === "sendNext" || steerProblem(state) !== "" ? "next" : "steer";
}

/** Why a text is too long for a prompt, in one sentence; empty if it is not. */
export function lengthProblem(text: string): string {
  if (text.length <= MOST_WORDS) return "";
  return `A prompt takes ${grouped(MOST_WORDS)} characters at most, and this one has ${grouped(text.length)}. Shorten it, or attach a file instead`;
}

/** Why nothing can be sent now, in one sentence; empty if it can. */
export function sendProblem(
  state: Pick<PanelState, "connection" | "status" | "attachments">,
  text: string,
): string {
  if (state.connection.kind !== "ready") {
    return state.connection.reason || "The server is not ready";
  }
  if (text.trim() === "") return "Write something first";
  if (lengthProblem(text) !== "") return lengthProblem(text);
  const pictures = state.attachments.some((one) => one.kind === "image");
  if (pictures && state.status?.pictures === false) {
    return `${state.status.model} takes no pictures. Remove them, or choose another model`;
  }
  return "";
}
