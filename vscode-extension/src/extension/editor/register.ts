/** Registers Indwell's visible parts in the editor. */
import * as vscode from "vscode";
import type { Server } from "../server/server.ts";
import { attachCommands } from "./attach/commands.ts";
import type { LastCommands } from "./attach/last-command.ts";
import type { ChatLink } from "./chat-link.ts";
import { backgroundCommands } from "./commands/background.ts";
import { commitCommands } from "./commands/commit-message.ts";
import { fixCommands } from "./commands/fixes.ts";
import { listedTasks } from "./commands/listed-tasks.ts";
import { mcpCommands } from "./commands/mcp-servers.ts";
import { reviewCommands } from "./commands/reviews.ts";
import { registerCommands } from "./commands/run.ts";
import { sessionCommands } from "./commands/sessions.ts";
import { taskCommands } from "./commands/tasks.ts";
import { navigationCommands, verdictCommands } from "./commands/verdicts.ts";
import { InlinePrompt } from "./inline/inline-prompt.ts";
import { drawPending } from "./pending/decorations.ts";
import { showBars } from "./pending/lenses.ts";
import { PendingChanges } from "./pending/pending-changes.ts";
import { keepContextKeys } from "./status/context-keys.ts";
import { notifyHidden } from "./status/notify.ts";
import { showStatus } from "./status/status-bar.ts";

/** Registers commands, decorations, status bar, context keys and notifications. */
export function registerEditor(
  context: vscode.ExtensionContext,
  server: Server,
  chat: ChatLink,
  terminals: LastCommands,
): vscode.Disposable {
  const pending = new PendingChanges(chat);
  const inline = new InlinePrompt(server, chat);
  const tasks = taskCommands(server, chat);
  const commands = {
    ...tasks,
    ...inline.handlers((...args) => tasks["indwell.edit"]?.(...args)),
    ...verdictCommands(server, pending),
    ...navigationCommands(pending),
    ...reviewCommands(server, pending),
    ...sessionCommands(server, chat),
    ...attachCommands(chat),
    ...backgroundCommands(chat),
    ...mcpCommands(server, chat),
    ...listedTasks(server, chat),
    ...commitCommands(server),
    ...fixCommands(chat, terminals),
    "indwell.openWalkthrough": () =>
      vscode.commands.executeCommand(
        "workbench.action.openWalkthrough",
        `${context.extension.id}#start`,
        false,
      ),
  };
  return vscode.Disposable.from(
    pending,
    inline,
    registerCommands(commands, server.log),
    drawPending(pending),
    showBars(pending),
    showStatus(server, chat),
    keepContextKeys(server, chat, pending),
    notifyHidden(chat),
  );
}
