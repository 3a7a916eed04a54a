/** The chat panel's interface for the editor's commands; the panel's module implements it. */
import type * as vscode from "vscode";
import type { EventParams } from "../../protocol.ts";
import type { ToHost } from "../../shared/messages.ts";
import type { Attachment, PanelState } from "../../shared/state.ts";

export interface ChatLink {
  readonly state: PanelState;
  readonly onDidChangeState: vscode.Event<PanelState>;
  readonly onEvent: vscode.Event<EventParams>;
  /** Whether the panel is visible. */
  readonly visible: boolean;
  /**
   * Shows the panel; with `focus`, focuses the composer or the open question. Returns false if the
   * panel cannot be shown.
   */
  show(focus: boolean | "question"): Promise<boolean>;
  /** Carries out a message as if the user had chosen it in the panel. */
  perform(message: ToHost): Promise<void>;
  /** Sends a prompt with its own attachments; the draft keeps its text and attachments. */
  ask(words: string, attachments: readonly Attachment[]): void;
}
