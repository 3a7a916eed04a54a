/**
 * Shows code that waits for the user's consent; the diff's title bar and a notification have the
 * buttons.
 */
import * as vscode from "vscode";
import { say } from "../../say.ts";

/** The context key that shows the buttons in the title bar. */
const KEY = "indwell.codeShown";

/** Created once for each window. */
export class StandingDocuments {
  readonly #waiting = new Map<string, (yes: boolean) => void>();

  constructor(subscriptions: vscode.Disposable[]) {
    const on = (command: string, yes: boolean): vscode.Disposable =>
      vscode.commands.registerCommand(command, (uri: unknown) => {
        this.#answer(uri instanceof vscode.Uri ? uri : active(), yes);
      });
    subscriptions.push(
      on("indwell.applyCode", true),
      on("indwell.discardCode", false),
      vscode.window.tabGroups.onDidChangeTabs(({ closed }) => {
        if (closed.length > 0) this.#forgetClosed();
      }),
    );
  }

  /**
   * Returns true once the user says yes, or false if the document is closed. A notification with
   * `words` has the button `yes`.
   */
  async wait(uri: vscode.Uri, words: string, yes: string): Promise<boolean> {
    const answered = new Promise<boolean>((answer) => {
      this.#waiting.set(uri.toString(), answer);
    });
    this.#tell();
    void say("info", words, yes).then((chosen) => {
      // A notification that is closed or times out is not an answer.
      if (chosen === yes) this.#answer(uri, true);
    });
    return answered;
  }

  #answer(uri: vscode.Uri | undefined, yes: boolean): void {
    const key = uri?.toString() ?? "";
    const answer = this.#waiting.get(key);
    if (answer === undefined) return;
    this.#waiting.delete(key);
    this.#tell();
    answer(yes);
  }

  #forgetClosed(): void {
    const open = new Set(
      vscode.window.tabGroups.all.flatMap((group) => group.tabs.map(({ input }) => uriOf(input))),
    );
    for (const key of [...this.#waiting.keys()]) {
      if (!open.has(key)) this.#answer(vscode.Uri.parse(key), false);
    }
  }

  #tell(): void {
    void vscode.commands.executeCommand("setContext", KEY, [...this.#waiting.keys()]);
  }
}

/** Returns the document of a tab; for a diff, its right side. */
function uriOf(input: unknown): string {
  if (input instanceof vscode.TabInputText) return input.uri.toString();
  return input instanceof vscode.TabInputTextDiff ? input.modified.toString() : "";
}

function active(): vscode.Uri | undefined {
  const input = vscode.window.tabGroups.activeTabGroup.activeTab?.input;
  const uri = uriOf(input);
  return uri === "" ? undefined : vscode.Uri.parse(uri);
}
