/** How a tool call is called and drawn: verb first. Pure. */
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
  web_fetch: { verb: "Fetch", icon: "globe" },
};

/** The look of a tool by its name; one that is not known is called by its name. */
export function toolLook(name: string): ToolLook {
  const known = LOOKS[name];
  return known ?? { verb: name.replace(/[_-]+/g, " "), icon: "tools" };
}

/** What the line says about how it went, where the server gave no figure. */
export function outcomeWords(part: ToolPart): string {
  if (part.state === "denied") return "refused";
  if (part.state === "stopped") return "stopped";
  if (part.figure !== "") return part.figure;
  if (part.state === "failed") return "failed";
  return part.state === "asking" ? "asking" : "";
}

/** Whether the figure is red. */
export function isBad(part: ToolPart): boolean {
  return part.state === "failed";
}

/** Whether the call is still under way. */
export function isGoing(part: ToolPart): boolean {
  return part.state === "running" || part.state === "asking";
}

/** The call of a list that is under way, the newest of them; of a sub-agent its own. */
export function going(parts: readonly Part[]): ToolPart | undefined {
  const part = parts.findLast((one): one is ToolPart => one.kind === "tool" && isGoing(one));
  return part === undefined ? undefined : (going(part.inner) ?? part);
}

/** Calls among the parts, with those of sub-agents. */
export function callsOf(parts: readonly Part[]): readonly ToolPart[] {
  return parts.flatMap((part) => (part.kind === "tool" ? [part, ...callsOf(part.inner)] : []));
}

/** How far a sub-agent is: `6 calls, 12k tokens`; empty before it did anything. */
export function agentFigure(part: ToolPart): string {
  const calls = part.inner.filter((one) => one.kind === "tool").length;
  return [
    calls === 0 ? "" : countFigure(calls, "call"),
    part.tokens === 0 ? "" : `${tokenFigure(part.tokens)} tokens`,
  ]
    .filter((one) => one !== "")
    .join(", ");
}
