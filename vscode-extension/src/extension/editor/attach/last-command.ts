/** Remembers the last command of each terminal in memory, by VS Code's shell integration. */
import * as vscode from "vscode";
import { type CommandRun, plainOutput } from "./command-run.ts";

/** The maximum number of kept characters from an output's end, including escape sequences. */
const MOST_KEPT = 400_000;

/** The context key for a failed last command of the active terminal. */
const FAILED = "indwell.commandFailed";

export class LastCommands implements vscode.Disposable {
  readonly #runs = new WeakMap<vscode.Terminal, CommandRun>();
  readonly #outputs = new WeakMap<vscode.TerminalShellExecution, Promise<string>>();
  #newest: CommandRun | null = null;
  readonly #parts: vscode.Disposable;

  constructor() {
    this.#parts = vscode.Disposable.from(
      vscode.window.onDidStartTerminalShellExecution(({ execution }) => {
        this.#outputs.set(execution, tailOf(execution.read()));
      }),
      vscode.window.onDidEndTerminalShellExecution((ended) => this.#ended(ended)),
      vscode.window.onDidChangeActiveTerminal(() => this.#tell()),
    );
  }

  /**
   * The last command of the active terminal; without one, the newest command of all terminals, or
   * null.
   */
  get last(): CommandRun | null {
    const active = vscode.window.activeTerminal;
    return (active && this.#runs.get(active)) ?? this.#newest;
  }

  async #ended(event: vscode.TerminalShellExecutionEndEvent): Promise<void> {
    const { execution, terminal, exitCode } = event;
    const command = execution.commandLine.value;
    if (command.trim() === "") return; // The user pressed only Enter.
    const raw = await (this.#outputs.get(execution) ?? "");
    const run = { command, exitCode: exitCode ?? null, output: plainOutput(raw) };
    this.#runs.set(terminal, run);
    this.#newest = run;
    this.#tell();
  }

  #tell(): void {
    const failed = (this.last?.exitCode ?? 0) !== 0;
    void vscode.commands.executeCommand("setContext", FAILED, failed);
  }

  dispose(): void {
    this.#parts.dispose();
  }
}

/** Returns the end of a stream; earlier parts are dropped as soon as there are too many. */
async function tailOf(stream: AsyncIterable<string>): Promise<string> {
  const pieces: string[] = [];
  let length = 0;
  for await (const piece of stream) {
    pieces.push(piece);
    length += piece.length;
    while (length - (pieces[0]?.length ?? 0) >= MOST_KEPT) length -= pieces.shift()?.length ?? 0;
  }
  return pieces.join("").slice(-MOST_KEPT);
}
