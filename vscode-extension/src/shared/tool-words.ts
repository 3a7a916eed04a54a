/** Returns the label and icon of a tool call; the label begins with a verb. Pure. */
import { countFigure, tokenFigure } from "./figures.ts";
import type { Part, ToolPart } from "./state.ts";

/** Verb and codicon of a tool. */
export interface ToolLook {
  readonly verb: string;
  readonly icon: string;
}

const LOOKS: Readonly<Record<string, ToolLook>> = {
  read_file: { verb: "Read", icon: "file" },
  list: { verb: "List", icon: "list-tree" },
  glob: { verb: "Find", icon: "search" },
  grep: { verb: "Search", icon: "search" },
  edit_file: { verb: "Edit", icon: "edit" },
  write_file: { verb: "Write", icon: "new-file" },
  bash: { verb: "Run", icon: "terminal" },
  todo: { verb: "Update the list", icon: "checklist" },
  load_skill: { verb: "Use the skill", icon: "mortar-board" },
  agent: { verb: "Agent", icon: "robot" },
  ask_user: { verb: "Ask", icon: "comment-discussion" },
  plan: { verb: "Propose a plan", icon: "list-ordered" },
  commands: { verb: "Look at the commands", icon: "server-process" },
  remember: { verb: "Remember", icon: "bookmark" },
  navigate: { verb: "Look up", icon: "references" },
  find_tools: { verb: "Find tools", icon: "search" },
  web_fetch: { verb: "Fetch", icon: "globe" },
};

/** Returns the verb and icon of a tool; for an unknown tool, the verb is its name. */
export function toolLook(name: string): ToolLook {
  const known = LOOKS[name];
  return known ?? { verb: name.replace(/[_-]+/g, " "), icon: "tools" };
}

/** Returns the outcome that is shown in the line of a call if the server sent no figure. */
export function outcomeWords(part: ToolPart): string {
  if (part.state === "denied") return "refused";
  if (part.state === "stopped") return "stopped";
  if (part.figure !== "") return part.figure;
  if (part.state === "failed") return "failed";
  return part.state === "asking" ? "asking" : "";
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
    calls === 0 ? "" : countFigure(calls, "call"),
    part.tokens === 0 ? "" : `${tokenFigure(part.tokens)} tokens`,
  ]
    .filter((one) => one !== "")
    .join(", ");
}
