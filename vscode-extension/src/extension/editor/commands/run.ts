/** Registers commands, and reports each error once, with the server's message. */

import * as vscode from "vscode";
import { say } from "../../say.ts";

/** The function of a command; its arguments come unchecked from a menu, a lens or a code action. */
export type Handler = (...args: readonly unknown[]) => unknown;

/** Registers `handlers` by their ids. */
export function registerCommands(
  handlers: Readonly<Record<string, Handler>>,
  log: vscode.LogOutputChannel,
): vscode.Disposable {
  const registered = Object.entries(handlers).map(([id, handler]) =>
    vscode.commands.registerCommand(id, async (...args: readonly unknown[]) => {
      try {
        return await handler(...args);
      } catch (error) {
        if (error instanceof vscode.CancellationError) return undefined;
        const words = error instanceof Error ? error.message : String(error);
        log.warn(`${id}: ${words}`);
        // The notification is not awaited, so that the caller of the command continues.
        void say("error", `Indwell: ${words}`);
        return undefined;
      }
    }),
  );
  return vscode.Disposable.from(...registered);
}

/** Returns the first argument, if it is a plain object; menus pass URIs and events instead. */
export function argumentOf(args: readonly unknown[]): Readonly<Record<string, unknown>> | null {
  const [first] = args;
  if (typeof first !== "object" || first === null || first instanceof vscode.Uri) return null;
  return Object.fromEntries(Object.entries(first));
}

/** Returns a field that is a non-empty string. */
export function stringIn(
  argument: Readonly<Record<string, unknown>> | null,
  name: string,
): string | null {
  const value = argument?.[name];
  return typeof value === "string" && value !== "" ? value : null;
}

/** Returns a field that is a whole number. */
export function numberIn(
  argument: Readonly<Record<string, unknown>> | null,
  name: string,
): number | null {
  const value = argument?.[name];
  return typeof value === "number" && Number.isInteger(value) ? value : null;
}
