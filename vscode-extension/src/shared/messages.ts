/** The messages between the extension host and the webview. Tagged, plain JSON; the host validates all of `ToHost`. */

import type { Coloured } from "./coloured.ts";
import type { McpForm } from "./mcp-page.ts";
import type { Action } from "./state/action.ts";
import type { PanelState } from "./state/state.ts";

/**
 * The maximum number of characters of a prompt, the same as in the server; a message with a longer
 * prompt is dropped.
 */
export const MOST_WORDS = 1_000_000;

/** Messages from the host to the webview. */
export type ToPanel =
  /**
   * The first message after `ready`, which is sent again whenever the webview's copy of the state
   * may be wrong. `typed` is the composer's text as last reported, and `typedAt` counts the changes
   * of this text.
   */
  | {
      readonly type: "snapshot";
      readonly state: PanelState;
      readonly typed: string;
      readonly typedAt?: number;
    }
  /**
   * Actions in order; `revision` is the revision of the state after the last action. A webview
   * whose state is not at `revision - actions.length` requests a snapshot by `ready`.
   */
  | { readonly type: "actions"; readonly actions: readonly Action[]; readonly revision: number }
  /** The answer to `find`. */
  | { readonly type: "found"; readonly id: number; readonly rows: readonly FoundRow[] }
  /** The answer to `colour`; null means that the code stays without colours. */
  | { readonly type: "coloured"; readonly id: string; readonly coloured: Coloured | null }
  | { readonly type: "focus"; readonly where: "composer" | "question" | "find" };

/** Where the focus can be moved to. */
export type FocusPlace = Extract<ToPanel, { readonly type: "focus" }>["where"];

/** One row of a completion list; `insert` replaces the typed text, `attach` adds a chip instead. */
export interface FoundRow {
  readonly kind:
    | "file"
    | "folder"
    | "symbol"
    | "problems"
    | "changes"
    | "selection"
    | "narrow"
    | "resource"
    | "command"
    | "skill"
    | "terminal";
  readonly label: string;
  readonly detail: string;
  /**
   * A mention to attach (`path`, `path#L1-20`, `folder/`), `problems:` with a URI or nothing,
   * `changes`, `selection`, `terminal` (the selected text), `terminal:last`, `folder:` or `symbol:`
   * (narrows the list), `@server:uri` (stays in the text), or a `/command`.
   */
  readonly value: string;
}

/**
 * Returns what is searched for the text after `@`: folders after `folder:`, symbols after
 * `symbol:`, otherwise everything.
 */
export function mentionQuery(text: string): {
  readonly only: "folder" | "symbol" | null;
  readonly query: string;
} {
  const only = text.startsWith("folder:") ? "folder" : text.startsWith("symbol:") ? "symbol" : null;
  return { only, query: only === null ? text : text.slice(only.length + 1) };
}

/** Messages from the webview to the host. */
export type ToHost =
  // at: the revision of the state that the page has drawn
  | { readonly type: "ready"; readonly at?: number }
  | {
      readonly type: "send";
      readonly text: string;
      readonly how: "auto" | "steer" | "next" | "alone";
    } // attachments are in the host's state; auto: prompt, or queued while a turn runs; alone: words that were not typed, without the draft's attachments
  | { readonly type: "stop" }
  // Sent after each key, for a long text only after 200 ms without a key; the host keeps the text
  // for a reload. `at` counts the changes of the text.
  | { readonly type: "typed"; readonly text: string; readonly at?: number }
  | {
      readonly type: "answer";
      readonly nonce: string;
      readonly answer: "no" | "once" | "session" | "always";
      readonly hunks: readonly string[] | null;
    }
  // Opens the question's whole text as a read-only document.
  | { readonly type: "openQuestion"; readonly nonce: string }
  | { readonly type: "said"; readonly nonce: string; readonly text: string | null }
  // The index of the option counts from 0.
  | { readonly type: "chosen"; readonly nonce: string; readonly option: number }
  | { readonly type: "find"; readonly id: number; readonly what: "@" | "/"; readonly query: string }
  | { readonly type: "attachMention"; readonly value: string; readonly label: string }
  | {
      readonly type: "attachImage";
      readonly label: string;
      readonly mime: string;
      readonly data: string;
    } // The data is base64.
  | { readonly type: "attachText"; readonly label: string; readonly text: string }
  // The files were dropped from the explorer or an editor tab.
  | { readonly type: "attachUris"; readonly uris: readonly string[] }
  | { readonly type: "pickContext" } // "+ Add context" opens the editor's own picker.
  | { readonly type: "unattach"; readonly id: string }
  | { readonly type: "mode"; readonly mode: string }
  | { readonly type: "model"; readonly model: string }
  | { readonly type: "effort"; readonly effort: string }
  | {
      readonly type: "command";
      readonly command:
        | "new"
        | "compact"
        | "continue"
        | "restart"
        | "showLog"
        | "review"
        | "acceptAll"
        | "undoVerdict"
        | "rejectAll"
        | "export"
        | "openSettings"
        | "manageKeys"
        | "mcp"
        | "explainRequest"
        | "trust"
        | "connect"
        | "useEditorModels"
        | "demo" // opens the demo; in its window, fixes the fault
        | "openFolder"
        | "chooseModel";
    }
  | {
      readonly type: "verdict";
      readonly verdict: "accept" | "reject";
      readonly hunks: readonly string[];
    }
  // Null means all files.
  | { readonly type: "openDiff"; readonly path: string | null; readonly turn: number | null }
  // The target is `path`, `path:12` or `path:12-20`, only inside the workspace.
  | { readonly type: "openFile"; readonly target: string }
  // Only https is opened; the host asks and shows the real target.
  | { readonly type: "openLink"; readonly href: string }
  // Fetches result and arguments of a card.
  | { readonly type: "openTool"; readonly id: string; readonly turn: number }
  | { readonly type: "copy"; readonly text: string }
  | {
      readonly type: "colour";
      readonly id: string;
      readonly code: string;
      readonly language: string;
      readonly theme: string; // The id is that of the editor's theme.
    }
  // Inserts at the cursor of the active editor.
  | { readonly type: "insertCode"; readonly text: string }
  // Applies an edit after showing a diff.
  | { readonly type: "applyCode"; readonly text: string; readonly target: string | null }
  | {
      readonly type: "queue";
      readonly action: "remove" | "move" | "edit" | "hold" | "resume";
      readonly id: string | null;
      readonly to: number | null;
      readonly text: string | null;
    }
  | { readonly type: "older" } // Fetches the previous page.
  // With null, the host asks.
  | { readonly type: "rewind"; readonly turn: number; readonly files: boolean | null }
  | { readonly type: "fork"; readonly turn: number }
  // Forks a session of the list from the end of its last turn.
  | { readonly type: "forkSession"; readonly session: string }
  // Rewinds the session to before `turn`, then sends this text; the unchanged text repeats the
  // turn.
  | { readonly type: "resend"; readonly turn: number; readonly text: string }
  /**
   * A decision about a plan; `open` shows its document. `text` is used with `approve`: the text on
   * the screen, or null for the text of the document. `words` is used with `reject`.
   */
  | {
      readonly type: "plan";
      readonly action: "approve" | "reject" | "open";
      readonly text: string | null;
      readonly words: string | null;
    }
  // Requests the state of the background commands, after stopping one of them if the message names
  // one.
  | { readonly type: "commands"; readonly stop: string | null }
  | { readonly type: "retry" } // Sends the failed turn's text again.
  | { readonly type: "sessions"; readonly query: string; readonly more: boolean }
  | { readonly type: "closeSessions" }
  | { readonly type: "openSession"; readonly session: string }
  | { readonly type: "openInEditor"; readonly session: string } // in an editor tab
  | { readonly type: "focused" } // the user works in this view now
  | { readonly type: "renameSession"; readonly session: string; readonly title: string }
  | { readonly type: "deleteSession"; readonly session: string }
  | { readonly type: "exportSession"; readonly session: string }
  | { readonly type: "mcp"; readonly action: "open" | "close" | "cancel" }
  | {
      readonly type: "mcpServer";
      readonly action: "approve" | "restart" | "remove" | "login" | "log";
      readonly name: string;
    }
  | { readonly type: "mcpAdd"; readonly form: McpForm }
  | { readonly type: "firstRun"; readonly step: "look" | "refresh" | "cancel" }
  | {
      readonly type: "login";
      readonly provider: string;
      readonly key: string | null;
      readonly url: string | null;
      readonly model: string | null;
    }
  | { readonly type: "closeBanner" };
