/** What other parts of the extension may ask of the chat. */
import type * as vscode from "vscode";
import type { EventParams } from "../../protocol.ts";
import type { ToHost } from "../../shared/messages.ts";
import type { PanelState } from "../../shared/state.ts";

export interface Chat extends vscode.Disposable {
  /** As it is now; `pending.rows` are all of the workspace. */
  readonly state: PanelState;
  /** At most 30 times a second. */
  readonly onDidChangeState: vscode.Event<PanelState>;
  /** Every event of the server, of whichever session. */
  readonly onEvent: vscode.Event<EventParams>;
  /** The panel can be seen now. */
  readonly visible: boolean;
  /** Brings it to view; with `focus` into the composer, or onto the question that waits. False if it cannot be shown. */
  show(focus: boolean | "question"): Promise<boolean>;
  /** Does what the panel would if the user had chosen it there. Never rejects. */
  perform(message: ToHost): Promise<void>;
}
