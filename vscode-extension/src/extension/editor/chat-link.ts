/** The chat panel's interface for the editor's commands; the panel's module implements it. */
import type * as vscode from "vscode";
import type { EventParams } from "../../protocol.ts";
import type { ToHost } from "../../shared/messages.ts";
import type { Attachment, PanelState } from "../../shared/state/state.ts";

/** The part of a chat that commands act on. */
export interface ChatHere {
  readonly state: PanelState;
  /** Shows the chat, and moves the focus there unless `focus` is false. */
  show(focus: boolean | "question" | "find"): Promise<boolean>;
  perform(message: ToHost): Promise<void>;
}

export interface ChatLink extends ChatHere {
  readonly state: PanelState;
  readonly onDidChangeState: vscode.Event<PanelState>;
  readonly onEvent: vscode.Event<EventParams>;
  /** The chat in which the user worked last: the panel, or an editor tab. */
  readonly here: ChatHere;
  /** The chats of the panel and of all editor tabs. */
  readonly all: readonly ChatHere[];
  /** Opens a session in an editor tab; null opens a new session. */
  openTab(session: string | null): Promise<void>;
  /** The panel is visible. */
  readonly visible: boolean;
  /**
   * Shows the panel; `focus` moves the focus to the composer or the open question. Returns false if
   * the panel cannot be shown.
   */
  show(focus: boolean | "question" | "find"): Promise<boolean>;
  /** Carries out a message as if the user had chosen it in the panel. */
  perform(message: ToHost): Promise<void>;
  /** Sends a prompt with its own attachments; the draft keeps its text and attachments. */
  ask(words: string, attachments: readonly Attachment[]): void;
}
