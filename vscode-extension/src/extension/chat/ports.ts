/** The editor as the chat uses it, in small ports: a test brings its own, `vscode-ports.ts` the real ones. */
import type { FoundRow } from "../../shared/messages.ts";

/** Questions in the editor's own windows. */
export interface Dialogs {
  /** A modal question; the choice, or null if it was closed. Cancel is there by itself. */
  confirm(words: string, detail: string, choices: readonly string[]): Promise<string | null>;
  /** A list; the value of the row, or null. */
  pick(
    title: string,
    rows: readonly { readonly label: string; readonly detail: string; readonly value: string }[],
  ): Promise<string | null>;
  /** A short word in the status bar that goes by itself. */
  say(words: string): void;
}

/** A place in a file of the workspace; lines from 0. */
export interface Place {
  readonly path: string;
  readonly first: number | null;
  readonly last: number | null;
}

/** What became of code that was to go into a file; `nowhere`: no file is open for it. */
export type Put = "applied" | "refused" | "nowhere";

/** What became of code that was to be applied; `unknown`: where it belongs in the file cannot be told. */
export type Applied =
  | Put
  | { readonly kind: "there"; readonly name: string }
  | { readonly kind: "unknown"; readonly name: string; readonly several: boolean };

/** A file that code is to go into. */
export interface CodeTarget {
  /** As the user is shown it. */
  readonly name: string;
  /** Every path to it that is known: as named, from its folder, behind its links. */
  readonly paths: readonly string[];
  /** The user has it in the active editor; else only the model has named it. */
  readonly isActive: boolean;
}

/** Asked before a file changes: a no is the user's; rejects, in words for the user, where nobody is asked. */
export type MayChange = (target: CodeTarget) => Promise<boolean>;

/** Documents and files. */
export interface Documents {
  /** Opens a file of the workspace beside the panel; rejects if it is none, or leads out of it. */
  open(place: Place): Promise<void>;
  /** The URI of a file that stands inside of an open folder; null if it does not. */
  locate(path: string): Promise<string | null>;
  /** Is a tab open of this file, wherever it is? */
  isOpen(path: string): boolean;
  /** A read-only document that nothing is written to. */
  showReadOnly(title: string, text: string): Promise<void>;
  /** The text of a virtual document or file. */
  read(uri: string): Promise<string>;
  /** Asks where to, and writes; false if the user closed the question. */
  save(name: string, text: string): Promise<boolean>;
  /** At the cursor of the active editor, one undo step. */
  insert(text: string, mayChange: MayChange): Promise<Put>;
  /**
   * Shows a diff of `place` (null: of the active editor) with `text` where it belongs, and applies it on a yes.
   * It takes the place of what is marked; else its place is found by the lines that the file has too.
   */
  apply(text: string, place: Place | null, mayChange: MayChange): Promise<Applied>;
}

/** What can be attached, as the editor knows it. */
export interface Finding {
  /** Files, folders, symbols, problems that fit; `signal` says that a newer question came. */
  find(query: string, signal: AbortSignal): Promise<readonly FoundRow[]>;
  /** Mentions for dropped URIs: `value` for the server; those outside of the workspace are left out. */
  mentions(uris: readonly string[]): Promise<readonly { value: string; label: string }[]>;
  /** What is marked in the terminal. */
  terminal(): Promise<string | null>;
}

/** The rest of the editor. */
export interface Shell {
  /** Runs one of the commands that this module names itself; never a name from outside. */
  run(command: string, ...args: readonly unknown[]): Promise<unknown>;
  copy(text: string): Promise<void>;
  openExternal(href: string): Promise<boolean>;
}

/** Where a reload finds things again. */
export interface Memory {
  get(key: string): unknown;
  /** Resolves when it is written; nothing: it is written already. */
  set(key: string, value: unknown): PromiseLike<unknown> | undefined;
}

export interface Ports {
  readonly dialogs: Dialogs;
  readonly documents: Documents;
  readonly finding: Finding;
  readonly shell: Shell;
  readonly memory: Memory;
}
