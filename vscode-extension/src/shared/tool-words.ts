/**
 * The labels, icons and figures of tool calls and of background commands, and which of several
 * edits of a file is the last. Pure.
 */
import type { BackgroundCommand } from "../protocol.ts";
import { plural, t } from "./l10n.ts";
import type { Part, ToolPart } from "./state/state.ts";
import { durationFigure, tokenFigure } from "./words.ts";

/** Verb and codicon of a tool. */
interface ToolLook {
  readonly verb: string;
  readonly icon: string;
}

const LOOKS: Readonly<Record<string, ToolLook>> = {
  read_file: { verb: t("Read"), icon: "file" },
  list: { verb: t("List"), icon: "list-tree" },
  glob: { verb: t("Find"), icon: "search" },
  grep: { verb: t("Search"), icon: "search" },
  edit_file: { verb: t("Edit"), icon: "edit" },
  write_file: { verb: t("Write"), icon: "new-file" },
  bash: { verb: t("Run"), icon: "terminal" },
  todo: { verb: t("Update the list"), icon: "checklist" },
  load_skill: { verb: t("Use the skill"), icon: "mortar-board" },
  agent: { verb: t("Agent"), icon: "robot" },
  ask_user: { verb: t("Ask"), icon: "comment-discussion" },
  plan: { verb: t("Propose a plan"), icon: "list-ordered" },
  commands: { verb: t("Look at the commands"), icon: "server-process" },
  remember: { verb: t("Remember"), icon: "bookmark" },
  navigate: { verb: t("Look up"), icon: "references" },
  find_tools: { verb: t("Find tools"), icon: "search" },
  web_fetch: { verb: t("Fetch"), icon: "globe" },
};

/** Returns the verb and icon of a tool; for an unknown tool, the verb is its name. */
export function toolLook(name: string): ToolLook {
  const known = LOOKS[name];
  return known ?? { verb: name.replace(/[_-]+/g, " "), icon: "tools" };
}

/** Returns the outcome that is shown in the line of a call if the server sent no figure. */
export function outcomeWords(part: ToolPart): string {
  if (part.state === "denied") return t("refused");
  if (part.state === "stopped") return t("stopped");
  if (part.figure !== "") return part.figure;
  if (part.state === "failed") return t("failed");
  return part.state === "asking" ? t("asking") : "";
}

/** Returns whether the figure is red. */
export function isBad(part: ToolPart): boolean {
  return part.state === "failed";
}

/** Returns whether the call is still running. */
export function isGoing(part: ToolPart): boolean {
  return part.state === "running" || part.state === "asking";
}

/**
 * Returns the newest running call of a list; if a sub-agent runs, the call that the sub-agent
 * makes.
 */
export function going(parts: readonly Part[]): ToolPart | undefined {
  const part = parts.findLast((one): one is ToolPart => one.kind === "tool" && isGoing(one));
  return part === undefined ? undefined : (going(part.inner) ?? part);
}

/** Returns the number of calls among the parts, including those of sub-agents. */
function callsOf(parts: readonly Part[]): readonly ToolPart[] {
  return parts.flatMap((part) => (part.kind === "tool" ? [part, ...callsOf(part.inner)] : []));
}

/** Returns the progress of a sub-agent: `6 calls, 12k tokens`, or empty before its first call. */
export function agentFigure(part: ToolPart): string {
  const calls = part.inner.filter((one) => one.kind === "tool").length;
  return [
    calls === 0 ? "" : plural(calls, "{0} call", "{0} calls"),
    part.tokens === 0 ? "" : t("{0} tokens", tokenFigure(part.tokens)),
  ]
    .filter((one) => one !== "")
    .join(", ");
}

/**
 * Returns whether no later call among `parts` edits the same files. A sub-agent's edits count as
 * those of its call.
 */
export function isLastEdit(parts: readonly Part[], part: ToolPart): boolean {
  const paths = new Set(pathsOf(part));
  if (paths.size === 0) return false;
  for (let at = parts.length - 1; at >= 0; at -= 1) {
    const other = parts[at];
    if (other === part || other?.key === part.key) return true;
    if (other?.kind === "tool" && pathsOf(other).some((path) => paths.has(path))) return false;
  }
  return true;
}

function pathsOf(part: ToolPart): readonly string[] {
  return callsOf([part]).flatMap((call) => call.diffs.map((edit) => edit.path));
}

/** Returns the running commands. */
export function runningCommands(
  commands: readonly BackgroundCommand[],
): readonly BackgroundCommand[] {
  return commands.filter((one) => one.state === "running");
}

/** Returns `2 commands running`, or `3 commands ended`, or empty if there are no commands. */
export function commandsWords(commands: readonly BackgroundCommand[]): string {
  const running = runningCommands(commands).length;
  if (running > 0) return plural(running, "{0} command running", "{0} commands running");
  return commands.length === 0
    ? ""
    : plural(commands.length, "{0} command ended", "{0} commands ended");
}

/**
 * Returns the state of a command: `running`, `ended after 12 s`, `exit code 2 after 3.0 s`,
 * `stopped after 4.0 s`.
 */
export function commandFigure(command: BackgroundCommand): string {
  const time = durationFigure(command.seconds);
  switch (command.state) {
    case "running":
      return t("running");
    case "stopped":
      return t("stopped after {0}", time);
    case "ended":
      return isFailed(command)
        ? failedWords(command.exitCode ?? 0, time)
        : t("ended after {0}", time);
    default:
      return command.state satisfies never;
  }
}

/** Returns whether the command failed by itself. */
export function isFailed({ state, exitCode }: BackgroundCommand): boolean {
  return state === "ended" && exitCode !== null && exitCode !== 0;
}

function failedWords(code: number, time: string): string {
  return code < 0
    ? t("signal {0} after {1}", -code, time)
    : t("exit code {0} after {1}", code, time);
}
