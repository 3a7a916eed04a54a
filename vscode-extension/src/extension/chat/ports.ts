/**
 * The editor's interfaces for the chat. A test passes its own implementations; `vscode-ports.ts`
 * has the real ones.
 */
import type { Coloured } from "../../shared/coloured.ts";
import type { FoundRow } from "../../shared/messages.ts";
import type { Selected } from "../editor/attach/selection.ts";

/** Asks questions in the editor's own dialogs. */
export interface Dialogs {
  /** Asks a modal question; returns the choice, or null if it was closed. The editor adds Cancel. */
  confirm(words: string, detail: string, choices: readonly string[]): Promise<string | null>;
  /** Shows a list; returns the value of the chosen row, or null. */
  pick(
    title: string,
    rows: readonly { readonly label: string; readonly detail: string; readonly value: string }[],
  ): Promise<string | null>;
  /** Shows a short text in the status bar for a while. */
  say(words: string): void;
}

/** A position in a file of the workspace; lines count from 0. */
export interface Place {
  readonly path: string;
  readonly first: number | null;
  readonly last: number | null;
}

/** The outcome of inserting code into a file; `nowhere` means that no file is open. */
export type Put = "applied" | "refused" | "nowhere";

/**
 * The outcome of applying code; `unknown` means that the code's position in the file is unclear.
 */
export type Applied =
  | Put
  | { readonly kind: "there"; readonly name: string }
  | { readonly kind: "unknown"; readonly name: string; readonly several: boolean };

/** The file that code is inserted into. */
export interface CodeTarget {
  /** The name shown to the user. */
  readonly name: string;
  /** Every known path of the file: as named, relative to its folder, and with links resolved. */
  readonly paths: readonly string[];
  /**
   * Whether the file is in the active editor; false if the file only comes from a name in the
   * model's text.
   */
  readonly isActive: boolean;
}

/**
 * Called before a file changes; returns false if the user says no, and rejects with a message if
 * the user is not asked.
 */
export type MayChange = (target: CodeTarget) => Promise<boolean>;

/**
 * Writes the whole text of a document as a pending change; returns false if the change belongs to
 * no turn.
 */
export type AsChange = (edit: {
  readonly uri: string;
  readonly version: number;
  readonly text: string;
}) => Promise<boolean>;

/** Documents and files. */
export interface Documents {
  /** Opens a file of the workspace beside the panel; rejects if the path is not a file of the workspace. */
  open(place: Place): Promise<void>;
  /** Returns the URI of a file in an open folder, or null for any other file. */
  locate(path: string): Promise<string | null>;
  /** Returns whether this file is open in any tab. */
  isOpen(path: string): boolean;
  /**
   * Shows a read-only document. A document with the same `key` is shown again with the new text, at
   * its end.
   */
  showReadOnly(title: string, text: string, key?: string): Promise<void>;
  /** Returns the text of a virtual document or file. */
  read(uri: string): Promise<string>;
  /** Asks for a path, and writes the text there; returns false if the user closed the dialog. */
  save(name: string, text: string): Promise<boolean>;
  /** Inserts at the cursor of the active editor, as one undo step. */
  insert(text: string, mayChange: MayChange): Promise<Put>;
  /**
   * Applies `text` at `place` (null means the active editor), by `asChange`, or after a diff if
   * `asChange` does not accept the text. The text replaces the selection; without a selection,
   * equal lines show its position.
   */
  apply(
    text: string,
    place: Place | null,
    mayChange: MayChange,
    asChange: AsChange,
  ): Promise<Applied>;
}

/** Finds things to attach. */
export interface Finding {
  /**
   * Returns matching files, folders, symbols and problems; `signal` fires if a newer request came.
   */
  find(query: string, signal: AbortSignal): Promise<readonly FoundRow[]>;
  /** Returns mentions for dropped URIs: `value` for the server; URIs outside of the workspace are left out. */
  mentions(uris: readonly string[]): Promise<readonly { value: string; label: string }[]>;
  /** Returns the selection in the terminal. */
  terminal(): Promise<string | null>;
  /** Returns the last command of the terminal, with its output, or null if no command is known. */
  lastCommand(): { readonly label: string; readonly text: string } | null;
  /** Returns the selection in the editor, or null if nothing is selected. */
  selection(): Selected | null;
}

/** Other functions of the editor. */
export interface Shell {
  /**
   * Runs a command whose name is in this extension's code, never a name from the webview or the
   * server.
   */
  run(command: string, ...args: readonly unknown[]): Promise<unknown>;
  copy(text: string): Promise<void>;
  openExternal(href: string): Promise<boolean>;
}

/** Storage that survives a reload. */
export interface Memory {
  get(key: string): unknown;
  /**
   * Stores a value; resolves when the value is written, and is undefined if the value was already
   * stored.
   */
  set(key: string, value: unknown): PromiseLike<unknown> | undefined;
}

/** Colours code as the editor does. */
export interface Colouring {
  /**
   * Returns the colours of code in the theme of this id, or null for an unknown language. Never
   * rejects.
   */
  colour(code: string, language: string, theme: string): Promise<Coloured | null>;
}

export interface Ports {
  readonly colouring: Colouring;
  readonly dialogs: Dialogs;
  readonly documents: Documents;
  readonly finding: Finding;
  readonly shell: Shell;
  readonly memory: Memory;
}
