/**
 * The field at the selection (Ctrl+I): the user says what to change there, and the edits come as pending changes.
 *
 * VS Code gives extensions no inline input and no view zone. A comment thread has a field at a line; a comment
 * that is being edited takes the focus by itself, which a new thread's reply box does not.
 */
import * as vscode from "vscode";
import type { EventParams, StartedResult } from "../../../protocol.ts";
import { visible } from "../../../shared/visible.ts";
import { isWork } from "../../client/told-documents.ts";
import { plainRange } from "../../client/watch-attention.ts";
import type { Server } from "../../server/server.ts";
import type { ChatLink } from "../chat-link.ts";
import type { Handler } from "../commands/run.ts";
import { linesWords, stepWords, type TurnOutcome, turnOutcome } from "./inline-words.ts";

const COMMAND = "indwell.edit";

/** The state of a field, which its buttons follow. */
type Standing = "asking" | "working" | "answered";

/** One field: its thread, and the turn that carries it out. */
interface Field {
  readonly thread: vscode.CommentThread;
  readonly document: vscode.TextDocument;
  readonly selection: vscode.Selection;
  readonly version: number;
  words: string;
  standing: Standing;
  turn: { readonly session: string; readonly number: number } | null;
}

export class InlinePrompt implements vscode.Disposable {
  readonly #server: Server;
  readonly #chat: ChatLink;
  readonly #controller = vscode.comments.createCommentController("indwell.inline", "Indwell");
  readonly #fields = new Set<Field>();
  readonly #events: vscode.Disposable;

  constructor(server: Server, chat: ChatLink) {
    this.#server = server;
    this.#chat = chat;
    this.#controller.options = { placeHolder: "What should change here? Enter sends" };
    this.#events = chat.onEvent((told) => this.#heard(told));
  }

  /** The handlers; `run` carries the command out when its words are given already. */
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
      throw new Error("Open a file first: there is nothing to edit.");
    for (const old of this.#fields) if (old.standing !== "working") this.#remove(old);
    const { document, selection } = editor;
    const last = lastLine(selection);
    const thread = this.#controller.createCommentThread(
      document.uri,
      new vscode.Range(selection.start.line, 0, last, document.lineAt(last).text.length),
      [],
    );
    thread.canReply = false;
    thread.collapsibleState = vscode.CommentThreadCollapsibleState.Expanded;
    const field: Field = {
      thread,
      document,
      selection,
      version: document.version,
      words: "",
      standing: "asking",
      turn: null,
    };
    this.#fields.add(field);
    this.#show(field, "asking", "");
  }

  async #send(comment: unknown): Promise<void> {
    const field = this.#fieldOf(comment);
    if (field === null || field.standing !== "asking") return;
    const words = textOf(comment).trim();
    if (words === "") return;
    field.words = words;
    this.#show(field, "working", "Starting");
    try {
      const { document, selection, version } = field;
      const started = await this.#server.execute<StartedResult | null>(COMMAND, {
        uri: document.uri.toString(),
        version,
        range: plainRange(selection),
        text: words,
      });
      if (started === null) this.#show(field, "asking", "");
      else if (started.session !== null && started.turn !== null)
        field.turn = { session: started.session, number: started.turn };
      // A turn runs already: the prompt waits in the chat's queue, where it can be changed.
      else {
        this.#remove(field);
        await this.#chat.show(false);
      }
    } catch (error) {
      this.#show(field, "asking", "");
      throw error;
    }
  }

  #heard({ session, event }: EventParams): void {
    for (const field of this.#fields) {
      if (field.turn?.session !== session || field.turn.number !== event.turn) continue;
      if (event.type === "turnFinished" && event.agent === "")
        this.#finish(field, turnOutcome(event));
      else {
        const step = stepWords(event);
        if (step !== null) field.thread.label = step;
      }
    }
  }

  #finish(field: Field, outcome: TurnOutcome): void {
    field.turn = null;
    switch (outcome.kind) {
      case "changed": // the pending changes are in the file, with their verdicts
        this.#remove(field);
        return;
      case "answered":
        this.#show(field, "answered", outcome.words);
        return;
      case "failed":
        this.#show(field, "asking", outcome.words);
        return;
      default:
        outcome satisfies never;
    }
  }

  #show(field: Field, standing: Standing, said: string): void {
    const { thread, words } = field;
    field.standing = standing;
    thread.contextValue = standing;
    const place = linesWords(field.selection.start.line, lastLine(field.selection));
    if (standing === "working") {
      thread.label = said;
      thread.comments = [comment("You", words, vscode.CommentMode.Preview, standing)];
    } else if (standing === "answered") {
      thread.label = place;
      thread.comments = [
        comment("You", words, vscode.CommentMode.Preview, standing),
        comment("Indwell", said, vscode.CommentMode.Preview, standing),
      ];
    } else {
      thread.label = said === "" ? `Edit ${place}` : visible(said);
      thread.comments = [comment("Indwell", words, vscode.CommentMode.Editing, standing)];
    }
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

  /** The field of a thread or comment; a key passes neither, and means the newest one. */
  #fieldOf(where: unknown): Field | null {
    const fields = [...this.#fields];
    const found = fields.find(
      ({ thread }) => thread === where || thread.comments.some((one) => one === where),
    );
    return found ?? (where === undefined ? (fields.at(-1) ?? null) : null);
  }
}

function comment(
  name: string,
  words: string,
  mode: vscode.CommentMode,
  contextValue: Standing,
): vscode.Comment {
  // Text, not Markdown: the answer's links and pictures stay inert.
  return {
    author: { name },
    body: mode === vscode.CommentMode.Editing ? words : visible(words),
    mode,
    contextValue,
  };
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

/** The last line of a selection; one that ends at a line's start ends before it. */
function lastLine({ start, end }: vscode.Selection): number {
  return end.line > start.line && end.character === 0 ? end.line - 1 : end.line;
}
