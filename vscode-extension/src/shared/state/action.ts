/** All actions on a `PanelState`, a closed union of plain JSON, so host and webview reduce equally. */

import type {
  BackgroundCommand,
  ChangesResult,
  ContextResult,
  Event,
  ModelRow,
  NumberedEvent,
  QueueResult,
  SessionResult,
  SessionsResult,
  StatusResult,
} from "../../protocol.ts";
import type { McpPage } from "../mcp-page.ts";
import type {
  Attachment,
  Connection,
  DraftMode,
  FirstRunState,
  Looks,
  NearModel,
  PanelState,
  Question,
  SessionMark,
  Suggestion,
  Turn,
} from "./state.ts";

export type Action =
  | { readonly type: "connection"; readonly connection: Connection }
  | { readonly type: "status"; readonly status: StatusResult }
  | { readonly type: "models"; readonly models: readonly ModelRow[] }
  /**
   * An event of the server; `at` is in milliseconds since the epoch, and is used only for
   * durations.
   */
  | {
      readonly type: "event";
      readonly session: string;
      readonly seq: number;
      readonly event: Event;
      readonly at: number;
    }
  /**
   * All events that the panel missed; if some of them are lost, a page of the log is sent instead.
   */
  | {
      readonly type: "missed";
      readonly session: string;
      readonly events: readonly NumberedEvent[];
      readonly at: number;
    }
  /**
   * The panel shows another session from now on, without turns until the session's pages arrive.
   */
  // left: the user chose another session; otherwise the new session, which had no id, now has one.
  | { readonly type: "opened"; readonly session: string | null; readonly left?: boolean }
  /** The conversation from before a reload, read from disk. */
  | {
      readonly type: "remembered";
      readonly session: string;
      readonly title: string;
      readonly turns: readonly Turn[];
      readonly hasOlder: boolean;
    }
  /**
   * A page of the log: with `replace`, the newest turns up to the event `seq`; with `before`, older
   * turns, for which `seq` is ignored.
   */
  | {
      readonly type: "page";
      readonly page: SessionResult;
      readonly where: "replace" | "before";
      readonly seq: number;
    }
  | { readonly type: "olderLoading" }
  | { readonly type: "olderFailed" }
  | {
      readonly type: "toolDetail";
      readonly session: string;
      readonly turn: number;
      readonly id: string;
      readonly result: string;
      readonly arguments: string;
    }
  | { readonly type: "question"; readonly question: Question }
  | { readonly type: "questionGone"; readonly nonce: string }
  | { readonly type: "queue"; readonly queue: QueueResult }
  | { readonly type: "changes"; readonly changes: ChangesResult }
  | {
      readonly type: "commands";
      readonly session: string | null;
      readonly commands: readonly BackgroundCommand[];
    }
  | { readonly type: "context"; readonly context: ContextResult }
  | { readonly type: "attach"; readonly attachment: Attachment }
  | { readonly type: "unattach"; readonly id: string }
  /**
   * The prompt was sent: its attachments are removed from the composer; its pictures are kept for
   * the prompt's turn.
   */
  | {
      readonly type: "sent";
      readonly id: number;
      readonly words: string;
      readonly images: readonly { readonly label: string; readonly url: string }[];
      /** Ids of the attachments that were sent; the others stay in the composer. */
      readonly taken: readonly string[];
    }
  /**
   * The server answered the prompt, with any result, so the prompt is no longer being sent.
   * `attachments` return to the composer.
   */
  | { readonly type: "answered"; readonly id: number; readonly attachments: readonly Attachment[] }
  | { readonly type: "draft"; readonly text: string; readonly mode: DraftMode }
  | { readonly type: "history"; readonly prompts: readonly string[] }
  | { readonly type: "firstRun"; readonly firstRun: FirstRunState | null }
  | { readonly type: "near"; readonly near: NearModel | null }
  | {
      readonly type: "list";
      readonly query: string;
      readonly result: SessionsResult | null;
      readonly where: "replace" | "after" | "close";
    }
  | { readonly type: "marks"; readonly marks: readonly SessionMark[] }
  | { readonly type: "mcp"; readonly page: McpPage | null }
  | { readonly type: "suggestions"; readonly suggestions: readonly Suggestion[] }
  | { readonly type: "banner"; readonly banner: PanelState["banner"] }
  | { readonly type: "looks"; readonly looks: Looks };
