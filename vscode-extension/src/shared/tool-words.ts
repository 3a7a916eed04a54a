/** How a tool call is called and drawn: verb first. Pure. */
import type { ToolPart } from "./state.ts";

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
  skill: { verb: "Use the skill", icon: "mortar-board" },
};

/** The look of a tool by its name; one that is not known is called by its name. */
export function toolLook(name: string): ToolLook {
  const known = LOOKS[name];
  return known ?? { verb: name.replace(/[_-]+/g, " "), icon: "tools" };
}

/** What the line says about how it went, where the server gave no figure. */
export function outcomeWords(part: ToolPart): string {
  if (part.state === "denied") return "refused";
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
