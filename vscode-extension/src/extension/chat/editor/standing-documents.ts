/** Documents that wait for a yes: it stands in their title bar, and a notification says so as well. */
import * as vscode from "vscode";
import { say } from "../../say.ts";

/** What a document waits for; each has a context key of its own, by which the title bar shows its buttons. */
export type Purpose = "plan" | "code";

const KEYS: Readonly<Record<Purpose, string>> = {
  plan: "indwell.plansShown",
  code: "indwell.codeShown",
};

interface Waiting {
  readonly purpose: Purpose;
  readonly answer: (yes: boolean) => void;
}

/** Made once a window. */
export class StandingDocuments {
  readonly #waiting = new Map<string, Waiting>();

  constructor(subscriptions: vscode.Disposable[]) {
    const on = (command: string, purpose: Purpose, yes: boolean): vscode.Disposable =>
      vscode.commands.registerCommand(command, (uri: unknown) => {
        this.#answer(uri instanceof vscode.Uri ? uri : active(), purpose, yes);
      });
    subscriptions.push(
      on("indwell.carryOutPlan", "plan", true),
      on("indwell.applyCode", "code", true),
      on("indwell.discardCode", "code", false),
      vscode.window.tabGroups.onDidChangeTabs(({ closed }) => {
        if (closed.length > 0) this.#forgetClosed();
      }),
    );
  }

  /** True once the user says yes; false if the document is closed or discarded. `words` with `yes` as a button say so too. */
  async wait(uri: vscode.Uri, purpose: Purpose, words: string, yes: string): Promise<boolean> {
    const key = uri.toString();
    const answered = new Promise<boolean>((answer) => {
      this.#waiting.set(key, { purpose, answer });
    });
    this.#tell(purpose);
    void say("info", words, yes).then((chosen) => {
      // A notification that is closed, or times out, answers nothing.
      if (chosen === yes) this.#answer(uri, purpose, true);
    });
    return answered;
  }

  #answer(uri: vscode.Uri | undefined, purpose: Purpose, yes: boolean): void {
    const key = uri?.toString() ?? "";
    const waiting = this.#waiting.get(key);
    if (waiting?.purpose !== purpose) return;
    this.#waiting.delete(key);
    this.#tell(purpose);
    waiting.answer(yes);
  }

  #forgetClosed(): void {
    const open = new Set(
      vscode.window.tabGroups.all.flatMap((group) => group.tabs.map(({ input }) => uriOf(input))),
    );
    for (const [key, { purpose }] of [...this.#waiting]) {
      if (!open.has(key)) this.#answer(vscode.Uri.parse(key), purpose, false);
    }
  }

  #tell(purpose: Purpose): void {
    const uris = [...this.#waiting].flatMap(([uri, one]) => (one.purpose === purpose ? [uri] : []));
    void vscode.commands.executeCommand("setContext", KEYS[purpose], uris);
  }
}

/** The document of a tab, of a diff its right side. */
function uriOf(input: unknown): string {
  if (input instanceof vscode.TabInputText) return input.uri.toString();
  return input instanceof vscode.TabInputTextDiff ? input.modified.toString() : "";
}

function active(): vscode.Uri | undefined {
  const input = vscode.window.tabGroups.activeTabGroup.activeTab?.input;
  const uri = uriOf(input);
  return uri === "" ? undefined : vscode.Uri.parse(uri);
}
