/** Texts about background commands. Pure. */
import type { BackgroundCommand } from "../protocol.ts";
import { countFigure, durationFigure } from "./figures.ts";

/** Returns the running commands. */
export function runningCommands(
  commands: readonly BackgroundCommand[],
): readonly BackgroundCommand[] {
  return commands.filter((one) => one.state === "running");
}

/** Returns `2 commands running`, or `3 commands ended`, or empty if there are no commands. */
export function commandsWords(commands: readonly BackgroundCommand[]): string {
  const running = runningCommands(commands).length;
  if (running > 0) return `${countFigure(running, "command")} running`;
  return commands.length === 0 ? "" : `${countFigure(commands.length, "command")} ended`;
}

/**
 * Returns the state of a command: `running`, `ended after 12 s`, `exit code 2 after 3.0 s`,
 * `stopped after 4.0 s`.
 */
export function commandFigure(command: BackgroundCommand): string {
  const after = `after ${durationFigure(command.seconds)}`;
  switch (command.state) {
    case "running":
      return "running";
    case "stopped":
      return `stopped ${after}`;
    case "ended":
      return isFailed(command) ? `${endWords(command.exitCode ?? 0)} ${after}` : `ended ${after}`;
    default:
      return command.state satisfies never;
  }
}

/** Returns whether the command failed by itself. */
export function isFailed({ state, exitCode }: BackgroundCommand): boolean {
  return state === "ended" && exitCode !== null && exitCode !== 0;
}

function endWords(code: number): string {
  return code < 0 ? `signal ${-code}` : `exit code ${code}`;
}
