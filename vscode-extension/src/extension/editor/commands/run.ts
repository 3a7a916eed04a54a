/** Registers commands so that what goes wrong is told once, in the server's own sentence. */
import * as vscode from "vscode";
import { say } from "../../say.ts";

/** What a command does; the arguments are those of a menu, a lens or a code action, and may be anything. */
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
        // Nobody waits for the toast: whoever ran the command goes on.
        void say("error", `Indwell: ${words}`);
        return undefined;
      }
    }),
  );
  return vscode.Disposable.from(...registered);
}

/** The first argument as an object, if it is one: menus give URIs and events in its place. */
export function argumentOf(args: readonly unknown[]): Readonly<Record<string, unknown>> | null {
  const [first] = args;
  if (typeof first !== "object" || first === null || first instanceof vscode.Uri) return null;
  return Object.fromEntries(Object.entries(first));
}

/** A field that is a string, and not empty. */
export function stringIn(
  argument: Readonly<Record<string, unknown>> | null,
  name: string,
): string | null {
  const value = argument?.[name];
  return typeof value === "string" && value !== "" ? value : null;
}

/** A field that is a whole number. */
export function numberIn(
  argument: Readonly<Record<string, unknown>> | null,
  name: string,
): number | null {
  const value = argument?.[name];
  return typeof value === "number" && Number.isInteger(value) ? value : null;
}
