/** Texts about background commands. Pure. */

import type { BackgroundCommand } from "../protocol.ts";
import { durationFigure } from "./figures.ts";
import { plural, t } from "./l10n.ts";

/** Returns the running commands. */
export function runningCommands(
  commands: readonly BackgroundCommand[],
): readonly BackgroundCommand[] {
  return commands.filter((one) => one.state === "running");
}

/** Returns `2 commands running`, or `3 commands ended`, or empty if there are no commands. */
export function commandsWords(commands: readonly BackgroundCommand[]): string {
  const running = runningCommands(commands).length;
  if (running > 0) return plural(running, "{0} command running", "{0} commands running");
  return commands.length === 0
    ? ""
    : plural(commands.length, "{0} command ended", "{0} commands ended");
}

/**
 * Returns the state of a command: `running`, `ended after 12 s`, `exit code 2 after 3.0 s`,
 * `stopped after 4.0 s`.
 */
export function commandFigure(command: BackgroundCommand): string {
  const time = durationFigure(command.seconds);
  switch (command.state) {
    case "running":
      return t("running");
    case "stopped":
      return t("stopped after {0}", time);
    case "ended":
      return isFailed(command)
        ? failedWords(command.exitCode ?? 0, time)
        : t("ended after {0}", time);
    default:
      return command.state satisfies never;
  }
}

/** Returns whether the command failed by itself. */
export function isFailed({ state, exitCode }: BackgroundCommand): boolean {
  return state === "ended" && exitCode !== null && exitCode !== 0;
}

function failedWords(code: number, time: string): string {
  return code < 0
    ? t("signal {0} after {1}", -code, time)
    : t("exit code {0} after {1}", code, time);
}
