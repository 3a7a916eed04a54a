/**
 * Colours code as the editor does, with the grammars and the theme that are installed in the
 * editor.
 */
import { join } from "node:path";
import { Worker } from "node:worker_threads";
import * as vscode from "vscode";
import type { Coloured } from "../../shared/coloured.ts";
import { catalogueOf } from "./catalogue.ts";
import { customRules } from "./custom-rules.ts";
import type { Granted, ThreadData, Wish } from "./thread.ts";

/**
 * A thread that takes longer than this is ended, because a grammar of an extension may run forever.
 */
const PATIENCE_MS = 5000;
/** A thread without work ends after this time, to free its memory. */
const IDLE_MS = 5 * 60_000;

export class Colours implements vscode.Disposable {
  readonly #script: string;
  readonly #log: (words: string) => void;
  readonly #heard: vscode.Disposable;
  readonly #waiting = new Map<number, (coloured: Coloured | null) => void>();
  #worker: Worker | null = null;
  #idle: NodeJS.Timeout | undefined;
  #last = 0;

  constructor(extension: vscode.Uri, log: (words: string) => void) {
    this.#script = join(extension.fsPath, "dist", "colours.js");
    this.#log = log;
    // The next thread reads the grammars and themes that are then installed.
    this.#heard = vscode.extensions.onDidChange(() => this.#end());
  }

  /** Returns the colours of code in a theme, or null for an unknown language. Never rejects. */
  colour(code: string, language: string, theme: string): Promise<Coloured | null> {
    this.#last += 1;
    const id = this.#last;
    const custom = vscode.workspace.getConfiguration("editor").get("tokenColorCustomizations");
    const wish: Wish = {
      id,
      code,
      language,
      theme: { name: theme, rules: customRules(custom, theme) },
    };
    return new Promise((resolve) => {
      const late = setTimeout(() => {
        this.#log(`Colouring code of the language ${language} took too long`);
        this.#end();
      }, PATIENCE_MS);
      this.#waiting.set(id, (coloured) => {
        clearTimeout(late);
        this.#waiting.delete(id);
        resolve(coloured);
      });
      this.#running().postMessage(wish);
    });
  }

  dispose(): void {
    this.#heard.dispose();
    this.#end();
  }

  #running(): Worker {
    clearTimeout(this.#idle);
    this.#idle = setTimeout(() => this.#end(), IDLE_MS);
    if (this.#worker !== null) return this.#worker;
    const workerData: ThreadData = { catalogue: catalogueOf(vscode.extensions.all) };
    const worker = new Worker(this.#script, { workerData });
    worker.unref();
    worker.on("message", ({ id, coloured, problem }: Granted) => {
      if (problem !== "") this.#log(`Colouring code: ${problem}`);
      this.#waiting.get(id)?.(coloured);
    });
    worker.on("error", (error) => {
      this.#log(`Colouring code: ${error.message}`);
      if (this.#worker === worker) this.#end();
    });
    this.#worker = worker;
    return worker;
  }

  /** Ends the thread; waiting code is not coloured. */
  #end(): void {
    clearTimeout(this.#idle);
    void this.#worker?.terminate();
    this.#worker = null;
    for (const done of [...this.#waiting.values()]) done(null);
  }
}
