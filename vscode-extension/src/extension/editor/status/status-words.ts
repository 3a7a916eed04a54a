/** The text of the status bar. Pure. */
import { commandsWords, runningCommands } from "../../../shared/command-words.ts";
import { costFigure, countFigure } from "../../../shared/figures.ts";
import { lackingWords } from "../../../shared/lacking-words.ts";
import { isBusy, runningTurn, sessionCost } from "../../../shared/selectors.ts";
import type { PanelState, ToolPart } from "../../../shared/state.ts";
import { going, toolLook } from "../../../shared/tool-words.ts";
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
    panel.status?.lacking ? "Connect a model" : "",
    panel.status?.model ? `Model: ${panel.status.model}` : "",
    panel.status ? `Mode: ${panel.status.mode}` : "",
    pending,
    runningCommands(panel.commands).length === 0 ? "" : commandsWords(panel.commands),
    cost === "" ? "" : `Cost of the session: ${cost}`,
  ].filter((one) => one !== "");
  const question = panel.questions[0];
  if (question !== undefined) {
    const what = question.kind === "permission" ? question.asked.title : question.prompt;
    const isModel = question.kind === "ask" && question.by === "model";
    const who = isModel ? "The model asks" : "Indwell asks";
    return words("$(question)", who, [what, ...more], "asks", cost);
  }
  const doing = doingNow(panel);
  if (doing !== null)
    return words("$(loading~spin)", doing, [`Indwell: ${doing}`, ...more], "plain", cost);
  if (panel.pending.total > 0) return words("$(diff)", `Indwell: ${pending}`, more, "plain", cost);
  return words(
    "$(comment-discussion)",
    "Indwell",
    more.length > 0 ? more : ["Ready"],
    "plain",
    cost,
  );
}

/** Returns the activity of the running turn, or null if no turn runs. */
export function doingNow(panel: PanelState): string | null {
  const turn = runningTurn(panel);
  if (turn === undefined) return isBusy(panel) ? "Working" : null;
  const tool = going(turn.parts);
  if (tool !== undefined) return toolWords(tool);
  const last = turn.parts.at(-1);
  if (last?.kind === "text") return "Writing";
  return last?.kind === "line" && last.what === "checking" ? "Checking" : "Thinking";
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
  const what = `${countFigure(changes, "change")} pending`;
  return files > 1 ? `${what} in ${countFigure(files, "file")}` : what;
}

function serverWords(server: ServerState): StatusWords | null {
  switch (server.kind) {
    case "running":
      return null;
    case "off":
      return words(
        "$(circle-slash)",
        "Indwell",
        [server.reason || "The server is not started"],
        "plain",
        "",
      );
    case "starting":
      return words("$(loading~spin)", "Indwell starts", [server.step], "plain", "");
    case "waiting":
      return words(
        "$(warning)",
        "Indwell starts again",
        ["The server ended by itself"],
        "down",
        "",
      );
    case "stopped":
      return server.crashed
        ? words("$(warning)", "Indwell is down", [server.reason], "down", "")
        : words("$(circle-slash)", "Indwell is stopped", [server.reason], "plain", "");
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
