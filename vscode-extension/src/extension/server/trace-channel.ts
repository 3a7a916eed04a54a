/** The log channel for the traces of the language client. */
import type * as vscode from "vscode";
import { tracedLine } from "./log-lines.ts";

/** Returns a channel that writes to `log`, but only the names of traced messages, at any level. */
export function withoutBodies(log: vscode.LogOutputChannel): vscode.LogOutputChannel {
  return {
    get name() {
      return log.name;
    },
    get logLevel() {
      return log.logLevel;
    },
    onDidChangeLogLevel: log.onDidChangeLogLevel,
    trace: (message) => {
      const line = tracedLine(message);
      if (line !== undefined) log.trace(line);
    },
    debug: (message, ...args) => log.debug(message, ...args),
    info: (message, ...args) => log.info(message, ...args),
    warn: (message, ...args) => log.warn(message, ...args),
    error: (message, ...args) => log.error(message, ...args),
    append: (value) => log.append(value),
    appendLine: (value) => log.appendLine(value),
    replace: (value) => log.replace(value),
    clear: () => log.clear(),
    show: () => log.show(true),
    hide: () => log.hide(),
    dispose: () => {}, // The channel does not belong to the client.
  };
}
