/** Returns the label and icon of a tool call; the label begins with a verb. Pure. */

import { tokenFigure } from "./figures.ts";
import { plural, t } from "./l10n.ts";
import type { Part, ToolPart } from "./state.ts";

/** Verb and codicon of a tool. */
export interface ToolLook {
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
export function callsOf(parts: readonly Part[]): readonly ToolPart[] {
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
