/** The chat's interface for other parts of the extension. */
import type * as vscode from "vscode";
import type { EventParams } from "../../protocol.ts";
import type { ToHost } from "../../shared/messages.ts";
import type { Attachment, PanelState } from "../../shared/state.ts";
import type { ChatHere } from "../editor/chat-link.ts";

export interface Chat extends vscode.Disposable {
  /** The current state; `pending.rows` are all pending changes of the workspace. */
  readonly state: PanelState;
  /** Called at most 30 times a second. */
  readonly onDidChangeState: vscode.Event<PanelState>;
  /** Called for every event of the server, in every session. */
  readonly onEvent: vscode.Event<EventParams>;
  /** The chat in which the user worked last: the panel, or an editor tab. */
  readonly here: ChatHere;
  /** The chats of the panel and of all editor tabs. */
  readonly all: readonly ChatHere[];
  /** Opens a session in an editor tab; null opens a new session. */
  openTab(session: string | null): Promise<void>;
  /** Whether the panel, or a tab with the panel's session, is visible. */
  readonly visible: boolean;
  /**
   * Shows the panel; `focus` moves the focus to the composer or the open question. Returns false if
   * the panel cannot be shown.
   */
  show(focus: boolean | "question" | "find"): Promise<boolean>;
  /** Carries out a message as if the user had chosen it in the panel. Never rejects. */
  perform(message: ToHost): Promise<void>;
  /** Sends a prompt with its own attachments; the draft keeps its text and attachments. */
  ask(words: string, attachments: readonly Attachment[]): void;
}
