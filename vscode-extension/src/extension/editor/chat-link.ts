/** What the editor's side needs of the chat panel; the panel's own module fulfils it. */
import type * as vscode from "vscode";
import type { EventParams } from "../../protocol.ts";
import type { ToHost } from "../../shared/messages.ts";
import type { PanelState } from "../../shared/state.ts";

export interface ChatLink {
  readonly state: PanelState;
  readonly onDidChangeState: vscode.Event<PanelState>;
  readonly onEvent: vscode.Event<EventParams>;
  /** The panel can be seen now. */
  readonly visible: boolean;
  /** Brings it to view; with `focus` into the composer, or onto the question that waits. False if it cannot be shown. */
  show(focus: boolean | "question"): Promise<boolean>;
  /** Does what the panel would if the user had chosen it there. */
  perform(message: ToHost): Promise<void>;
}
