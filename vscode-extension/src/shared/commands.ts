/** Defines the commands that can be typed after `/`, and their messages. Pure. */

import { t } from "./l10n.ts";
import type { ToHost } from "./messages.ts";
import { AUTO } from "./words.ts";

/** A command of the composer; `values` are the possible arguments. */
export interface SlashCommand {
  readonly name: string;
  readonly detail: string;
  readonly values: "none" | "modes" | "models" | "efforts" | "words" | readonly ServerVerb[];
}

/** A word after a command that the server carries out, such as `merge` after `/worktree`. */
export interface ServerVerb {
  readonly name: string;
  readonly detail: string;
}

const TASK_VERBS: readonly ServerVerb[] = [
  { name: "add", detail: t("Add a task, with its title") },
  { name: "run", detail: t("Run the tasks in sessions of their own") },
  { name: "done", detail: t("Mark a task as done") },
  { name: "stop", detail: t("Stop a running task") },
  { name: "clear", detail: t("Remove the tasks that are done") },
];
const WORKTREE_VERBS: readonly ServerVerb[] = [
  { name: "new", detail: t("Let the next new session work in a copy of the folder") },
  { name: "diff", detail: t("Show the changes of a worktree") },
  { name: "merge", detail: t("Bring the changes of a worktree into the folder, for review") },
  { name: "remove", detail: t("Remove a worktree without changes") },
  { name: "discard", detail: t("Remove a worktree, and delete its changes") },
];

/** All commands, in the order in which an empty `/` lists them. */
export const COMMANDS: readonly SlashCommand[] = [
  { name: "new", detail: t("Begin a new session"), values: "none" },
  { name: "compact", detail: t("Compact the conversation now"), values: "none" },
  { name: "continue", detail: t("Continue a turn that was interrupted"), values: "none" },
  { name: "mode", detail: t("Choose the mode: plan, ask, review, auto"), values: "modes" },
  { name: "model", detail: t("Choose the model"), values: "models" },
  { name: "effort", detail: t("Choose how much the model thinks"), values: "efforts" },
  { name: "review", detail: t("Review the pending changes"), values: "none" },
  { name: "sessions", detail: t("List past sessions, or search in them"), values: "words" },
  { name: "tasks", detail: t("List the tasks of the folder"), values: TASK_VERBS },
  { name: "worktree", detail: t("List the worktrees of the folder"), values: WORKTREE_VERBS },
  { name: "export", detail: t("Save the session as Markdown"), values: "none" },
  { name: "request", detail: t("Show the next request, block by block"), values: "none" },
  { name: "mcp", detail: t("List, add and remove MCP servers"), values: "none" },
  { name: "keys", detail: t("Manage the keys of providers"), values: "none" },
  { name: "stop", detail: t("Stop the running turn"), values: "none" },
  { name: "restart", detail: t("Restart the server"), values: "none" },
  { name: "log", detail: t("Show the log"), values: "none" },
  { name: "settings", detail: t("Open the settings"), values: "none" },
];

/** The prompt by which the server continues a turn that the server's end interrupted. */
export const CONTINUE = "/continue";

/** The prompt by which the server shortens the conversation of a session. */
export const COMPACT = "/compact";

/**
 * The meaning of a typed line: a message to send, an incomplete command (`/mode ` needs a value),
 * or no command.
 */
export type CommandOutcome =
  | { readonly kind: "post"; readonly message: ToHost }
  | { readonly kind: "complete"; readonly text: string }
  | { readonly kind: "none" };

const NONE: CommandOutcome = { kind: "none" };

/**
 * Parses `text` as a command. Unless `text` is one of `COMMANDS` with a valid argument, the outcome
 * is `none` and the text is sent unchanged: it may be a path such as `/usr/bin`, a skill, or a
 * command of the server.
 */
export function commandOutcome(
  text: string,
  offered: {
    readonly modes: readonly string[];
    readonly models: readonly string[];
    readonly efforts: readonly string[];
  },
): CommandOutcome {
  const typed = /^\/([a-z]+)(?:\s+(.*?))?\s*$/.exec(text);
  const command = COMMANDS.find((one) => one.name === typed?.[1]);
  if (command === undefined) return NONE;
  const value = typed?.[2] ?? "";
  switch (command.values) {
    case "none":
      return value === "" ? post(plainMessage(command.name)) : NONE;
    case "words":
      return post({ type: "sessions", query: value, more: false });
    case "modes":
      if (value === "") return { kind: "complete", text: "/mode " };
      return offered.modes.includes(value) ? post({ type: "mode", mode: value }) : NONE;
    case "models":
      if (value === "") return { kind: "complete", text: "/model " };
      return offered.models.includes(value) ? post({ type: "model", model: value }) : NONE;
    case "efforts":
      if (value === "") return { kind: "complete", text: "/effort " };
      if (value === AUTO) return post({ type: "effort", effort: "" });
      return offered.efforts.includes(value) ? post({ type: "effort", effort: value }) : NONE;
    default:
      // The server carries out the command, so the text is sent unchanged.
      return NONE;
  }
}

function post(message: ToHost | null): CommandOutcome {
  return message === null ? NONE : { kind: "post", message };
}

function plainMessage(name: string): ToHost | null {
  switch (name) {
    case "new":
    case "compact":
    case "continue":
    case "review":
    case "export":
    case "restart":
    case "mcp":
      return { type: "command", command: name };
    case "request":
      return { type: "command", command: "explainRequest" };
    case "keys":
      return { type: "command", command: "manageKeys" };
    case "log":
      return { type: "command", command: "showLog" };
    case "settings":
      return { type: "command", command: "openSettings" };
    case "stop":
      return { type: "stop" };
    default:
      return null;
  }
}
