/**
 * Shows a text field at the selection (Ctrl+I): the user describes a change there, and the edits
 * arrive as pending changes. VS Code gives extensions no inline input. A comment thread has a field
 * at a line; a comment that is being edited takes the focus by itself, which a new thread's reply
 * box does not.
 */

import * as vscode from "vscode";
import type { EventParams, StartedResult } from "../../../protocol.ts";
import { t } from "../../../shared/l10n.ts";
import { visible } from "../../../shared/visible.ts";
import { isWork, plainRange } from "../../client/watch-attention.ts";
import type { Server } from "../../server/server.ts";
import type { ChatLink } from "../chat-link.ts";
import type { Handler } from "../commands/run.ts";
import { linesWords, stepWords, type TurnOutcome, turnOutcome } from "./inline-words.ts";

const COMMAND = "indwell.edit";

/** The state of a field, which its buttons follow. */
type Standing = "asking" | "working" | "failed";

interface Turn {
  readonly session: string;
  readonly number: number;
}

/** One field: its thread, and the turn that carries out the request. */
interface Field {
  readonly thread: vscode.CommentThread;
  readonly document: vscode.TextDocument;
  readonly selection: vscode.Selection;
  readonly version: number;
  standing: Standing;
  turn: Turn | null;
}

export class InlinePrompt implements vscode.Disposable {
  readonly #server: Server;
  readonly #chat: ChatLink;
  readonly #controller = vscode.comments.createCommentController("indwell.inline", "Indwell");
  readonly #fields = new Set<Field>();
  readonly #events: vscode.Disposable;
  #early: EventParams[] = [];

  constructor(server: Server, chat: ChatLink) {
    this.#server = server;
    this.#chat = chat;
    this.#events = chat.onEvent((told) => this.#heard(told));
  }

  /** The handlers; `run` carries out the command if its text is already given. */
  handlers(run: Handler): Readonly<Record<string, Handler>> {
    return {
      [COMMAND]: (...args) => (hasWords(args) ? run(...args) : this.#open()),
      "indwell.inlineSend": (comment) => this.#send(comment),
      "indwell.inlineClose": (where) => this.#close(where),
      "indwell.inlineStop": (where) => this.#stop(where),
    };
  }

  dispose(): void {
    this.#events.dispose();
    this.#controller.dispose();
  }

  #open(): void {
    const editor = vscode.window.activeTextEditor;
    if (editor === undefined || !isWork(editor.document.uri.scheme))
      throw new Error(t("Open a file first: there is nothing to edit."));
    for (const old of this.#fields) if (old.standing !== "working") this.#remove(old);
    const { document, selection } = editor;
    const last = lastLine(selection);
    const thread = this.#controller.createCommentThread(
      document.uri,
      new vscode.Range(selection.start.line, 0, last, document.lineAt(last).text.length),
      [fieldWith("")],
    );
    thread.canReply = false;
    thread.collapsibleState = vscode.CommentThreadCollapsibleState.Expanded;
    const field: Field = {
      thread,
      document,
      selection,
      version: document.version,
      standing: "asking",
      turn: null,
    };
    this.#fields.add(field);
    this.#show(field, "asking", placeWords(field));
  }

  async #send(comment: unknown): Promise<void> {
    const field = this.#fieldOf(comment);
    const words = textOf(comment).trim();
    if (field === null || field.standing !== "asking" || words === "") return;
    // The comment stays, because VS Code draws no later label of a thread without comments.
    this.#show(field, "working", t("Starting"));
    try {
      const { document, selection, version } = field;
      const started = await this.#server.execute<StartedResult | null>(COMMAND, {
        uri: document.uri.toString(),
        version,
        range: plainRange(selection),
        text: words,
      });
      const turn =
        started === null || started.session === null || started.turn === null
          ? null
          : { session: started.session, number: started.turn };
      // If no turn has begun, the chat shows why: a prompt waits in the queue, or no model is
      // connected.
      if (turn === null) this.#endInChat(field);
      else this.#begun(field, turn);
    } catch (error) {
      this.#show(field, "asking", placeWords(field));
      field.thread.comments = [fieldWith(words)];
      throw error;
    }
  }

  /**
   * Records the field's turn, because events of the turn may come before the answer that names it.
   */
  #begun(field: Field, turn: Turn): void {
    field.turn = turn;
    // The field has lost its box and thereby the focus. The keys to accept or reject need the focus
    // in the file.
    if (vscode.window.activeTextEditor?.document === field.document)
      void vscode.window.showTextDocument(field.document, { selection: field.selection });
    const early = this.#early.filter((told) => isOf(told, turn));
    this.#early = [];
    for (const told of early) this.#heard(told);
  }

  #heard(told: EventParams): void {
    const { event } = told;
    for (const field of this.#fields) {
      if (field.standing !== "working") continue;
      if (field.turn === null) this.#early.push(told);
      else if (isOf(told, field.turn)) {
        const step = stepWords(event);
        if (event.type === "turnFinished") this.#finish(field, turnOutcome(event));
        else if (step !== null) field.thread.label = step;
      }
    }
  }

  #finish(field: Field, outcome: TurnOutcome): void {
    field.turn = null;
    switch (outcome.kind) {
      case "done": // the pending changes are in the file, with their verdicts
        this.#remove(field);
        return;
      case "answered":
        this.#endInChat(field);
        return;
      case "failed":
        this.#show(field, "failed", visible(outcome.words));
        void this.#chat.show(false); // The chat's Retry sends the text again.
        return;
      default:
        outcome satisfies never;
    }
  }

  #endInChat(field: Field): void {
    this.#remove(field);
    void this.#chat.show(false);
  }

  #show(field: Field, standing: Standing, label: string): void {
    field.standing = standing;
    field.thread.contextValue = standing;
    field.thread.label = label;
  }

  #close(where: unknown): void {
    const field = this.#fieldOf(where);
    if (field === null) return;
    this.#remove(field);
    void vscode.window.showTextDocument(field.document, { selection: field.selection });
  }

  async #stop(where: unknown): Promise<void> {
    const turn = this.#fieldOf(where)?.turn;
    if (turn) await this.#server.execute("indwell.cancel", { session: turn.session });
  }

  #remove(field: Field): void {
    this.#fields.delete(field);
    field.thread.dispose();
  }

  /** Returns the field of a thread or comment, or the newest field if a key has passed neither. */
  #fieldOf(where: unknown): Field | null {
    const fields = [...this.#fields];
    const found = fields.find(
      ({ thread }) => thread === where || thread.comments.some((one) => one === where),
    );
    return found ?? (where === undefined ? (fields.at(-1) ?? null) : null);
  }
}

/** Creates the field. VS Code opens its view of comments only for a comment that has a text. */
function fieldWith(words: string): vscode.Comment {
  return {
    author: { name: "Indwell" },
    label: t("Enter sends, Esc closes"),
    body: words,
    mode: vscode.CommentMode.Editing,
    contextValue: "field",
  };
}

function isOf({ session, event }: EventParams, turn: Turn): boolean {
  const isOwn = !("agent" in event) || event.agent === "";
  return session === turn.session && event.turn === turn.number && isOwn;
}

function placeWords({ selection }: Field): string {
  return t("Edit {0}", linesWords(selection.start.line, lastLine(selection)));
}

function textOf(given: unknown): string {
  if (typeof given !== "object" || given === null || !("body" in given)) return "";
  const { body } = given;
  if (typeof body === "string") return body;
  return body instanceof vscode.MarkdownString ? body.value : "";
}

function hasWords([first]: readonly unknown[]): boolean {
  return typeof first === "object" && first !== null && "text" in first;
}

/**
 * Returns the last line of a selection; a selection that ends at column 0 of a line does not
 * include that line.
 */
function lastLine({ start, end }: vscode.Selection): number {
  return end.line > start.line && end.character === 0 ? end.line - 1 : end.line;
}
