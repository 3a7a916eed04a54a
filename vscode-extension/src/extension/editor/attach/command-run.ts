/** A command that ran in the terminal, as text for the model. Pure: escape sequences of the terminal are removed. */
import { t } from "../../../shared/l10n.ts";
import { boundedText } from "./mention.ts";

/** The last command of a terminal; `exitCode` is null if the shell did not report it. */
export interface CommandRun {
  readonly command: string;
  readonly exitCode: number | null;
  readonly output: string;
}

/** The maximum number of characters of a command in a label. */
const MOST_LABEL = 60;

// biome-ignore lint/suspicious/noControlCharactersInRegex: these are the terminal's escape sequences
const STRINGS = /(?:\x1b[\]PX^_]|[\x90\x98\x9d-\x9f])[\s\S]*?(?:\x07|\x1b\\|\x9c)/g;
// biome-ignore lint/suspicious/noControlCharactersInRegex: as above
const CONTROLS = /(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]|\x1b[ -/]*[0-~]/g;
// biome-ignore lint/suspicious/noControlCharactersInRegex: as above; tabs and line breaks stay
const OTHERS = /[\x00-\x07\x0b\x0c\x0e-\x1f\x7f-\x9f]/g;

/**
 * Returns the output as a reader sees it: without colours, with only the last text of an
 * overwritten line.
 */
export function plainOutput(raw: string): string {
  const text = raw.replaceAll(STRINGS, "").replaceAll(CONTROLS, "");
  return text.replaceAll(/\r+\n/g, "\n").split("\n").map(lastWritten).join("\n").trim();
}

/**
 * Returns the last version of a line, because a progress bar returns to the start of its line or
 * deletes text.
 */
function lastWritten(line: string): string {
  const shown = line.split("\r").findLast((piece) => piece !== "") ?? "";
  let kept = "";
  for (const letter of shown) kept = letter === "\b" ? kept.slice(0, -1) : kept + letter;
  return kept.replaceAll(OTHERS, "").trimEnd();
}

/** Returns a name for the chip: the command, and how it ended. */
export function runLabel({ command, exitCode }: CommandRun): string {
  const line = command.trim().replaceAll(/\s+/g, " ");
  const name = line.length > MOST_LABEL ? `${line.slice(0, MOST_LABEL)}…` : line;
  return exitCode === null
    ? t("Terminal: {0}", name)
    : t("Terminal: {0} (exit code {1})", name, exitCode);
}

/** Returns the command, the end of its output, and its exit code. */
export function runText({ command, exitCode, output }: CommandRun): string {
  const ended = exitCode === null ? "" : `\n[exit code ${exitCode}]`;
  return boundedText(
    `$ ${command.trim()}\n${output === "" ? "[VS Code passed on no output]" : output}${ended}`,
  );
}
