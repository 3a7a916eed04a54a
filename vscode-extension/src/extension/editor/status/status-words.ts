/** The text of the status bar. Pure. */

import { number, plural, t } from "../../../shared/l10n.ts";
import { isBusy, runningTurn, sessionCost } from "../../../shared/state/selectors.ts";
import type { PanelState, ToolPart } from "../../../shared/state/state.ts";
import { commandsWords, going, runningCommands, toolLook } from "../../../shared/tool-words.ts";
import { costFigure, lackingWords } from "../../../shared/words.ts";
import type { ServerState } from "../../server/state.ts";

/** A status bar entry: `text` with codicons, `spoken` without, `tooltip` line by line. */
export interface StatusWords {
  readonly text: string;
  readonly spoken: string;
  readonly tooltip: readonly string[];
  /** The tone; the entry gets the theme's warning or error background if the user has to act. */
  readonly tone: "plain" | "asks" | "down";
}

/** The maximum number of characters of the current activity; a status bar has little room. */
const MOST_DOING = 28;

/** Returns the state, the most urgent first: server, question, work, pending changes, nothing. */
export function statusWords(server: ServerState, panel: PanelState): StatusWords {
  const words = mostPressing(server, panel);
  const running = runningCommands(panel.commands).length;
  // The tooltip, which screen readers read too, has the same information as text.
  return running === 0 ? words : { ...words, text: `${words.text} $(server-process) ${running}` };
}

function mostPressing(server: ServerState, panel: PanelState): StatusWords {
  const cost = costFigure(sessionCost(panel) || null) ?? "";
  const down = serverWords(server);
  if (down !== null) return down;
  const pending = pendingWords(panel.pending.total, panel.pending.files);
  const more = [
    panel.status?.lacking ? lackingWords(panel.status.lacking).sentence : "",
    panel.status?.lacking ? t("Connect a model") : "",
    panel.status?.model ? t("Model: {0}", panel.status.model) : "",
    panel.status ? t("Mode: {0}", panel.status.mode) : "",
    pending,
    runningCommands(panel.commands).length === 0 ? "" : commandsWords(panel.commands),
    cost === "" ? "" : t("Cost of the session: {0}", cost),
  ].filter((one) => one !== "");
  const question = panel.questions[0];
  if (question !== undefined) {
    const what = question.kind === "permission" ? question.asked.title : question.prompt;
    const isModel = question.kind === "ask" && question.by === "model";
    const who = isModel ? t("The model asks") : t("Indwell asks");
    return words("$(question)", who, [what, ...more], "asks", cost);
  }
  const doing = doingNow(panel);
  if (doing !== null)
    return words("$(loading~spin)", doing, [`Indwell: ${doing}`, ...more], "plain", cost);
  if (panel.pending.total > 0) return words("$(diff)", `Indwell: ${pending}`, more, "plain", cost);
  return words(
    "$(comment-discussion)",
    "Indwell",
    more.length > 0 ? more : [t("Ready")],
    "plain",
    cost,
  );
}

/** Returns the activity of the running turn, or null if no turn runs. */
export function doingNow(panel: PanelState): string | null {
  const turn = runningTurn(panel);
  if (turn === undefined) return isBusy(panel) ? t("Working") : null;
  const tool = going(turn.parts);
  if (tool !== undefined) return toolWords(tool);
  const last = turn.parts.at(-1);
  if (last?.kind === "text") return t("Writing");
  return last?.kind === "line" && last.what === "checking" ? t("Checking") : t("Thinking");
}

function toolWords(tool: ToolPart): string {
  const { verb } = toolLook(tool.name);
  const target = tool.target.replace(/\s+/g, " ").trim();
  const short = target.length > MOST_DOING ? `…${target.slice(1 - MOST_DOING)}` : target;
  // A `$(` in the target would be drawn as an icon.
  return short === "" ? verb : `${verb} ${short.replaceAll("$(", "$ (")}`;
}

/** Returns `3 changes pending in 2 files`, or empty if there are none. */
export function pendingWords(changes: number, files: number): string {
  if (changes === 0) return "";
  if (files <= 1) return plural(changes, "{0} change pending", "{0} changes pending");
  return plural(
    changes,
    "{0} change pending in {1} files",
    "{0} changes pending in {1} files",
    number(files),
  );
}

function serverWords(server: ServerState): StatusWords | null {
  switch (server.kind) {
    case "running":
      return null;
    case "off":
      return words(
        "$(circle-slash)",
        "Indwell",
        [server.reason || t("The server is not started")],
        "plain",
        "",
      );
    case "starting":
      return words("$(loading~spin)", t("Indwell starts"), [server.step], "plain", "");
    case "waiting":
      return words(
        "$(warning)",
        t("Indwell starts again"),
        [t("The server ended by itself")],
        "down",
        "",
      );
    case "stopped":
      return server.crashed
        ? words("$(warning)", t("Indwell is down"), [server.reason], "down", "")
        : words("$(circle-slash)", t("Indwell is stopped"), [server.reason], "plain", "");
    default:
      return server satisfies never;
  }
}

function words(
  icon: string,
  said: string,
  tooltip: readonly string[],
  tone: StatusWords["tone"],
  cost: string,
): StatusWords {
  const tail = cost === "" ? "" : ` · ${cost}`;
  return {
    text: `${icon} ${said}${tail}`,
    spoken: `${said}${tail}. ${tooltip.join(". ")}`,
    tooltip,
    tone,
  };
}
