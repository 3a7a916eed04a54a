/** The messages between the extension host and the webview. Tagged, plain JSON; the host validates all of `ToHost`. */
import type { Action } from "./action.ts";
import type { Coloured } from "./coloured.ts";
import type { McpForm } from "./mcp-page.ts";
import type { PanelState } from "./state.ts";

/** The most characters of a prompt, as in the server; a longer message is dropped. */
export const MOST_WORDS = 1_000_000;

/** Host → webview. */
export type ToPanel =
  /** First thing after `ready`, and whenever the copy cannot be trusted. `typed`: the composer's text as last told; `typedAt` counts its changes. */
  | {
      readonly type: "snapshot";
      readonly state: PanelState;
      readonly typed: string;
      readonly typedAt?: number;
    }
  /** In order; `revision` is the state's after the last of them. A webview that is not at `revision - actions.length` asks anew by `ready`. */
  | { readonly type: "actions"; readonly actions: readonly Action[]; readonly revision: number }
  /** Answers to `find`. */
  | { readonly type: "found"; readonly id: number; readonly rows: readonly FoundRow[] }
  /** Answers to `colour`; null: the code stays plain. */
  | { readonly type: "coloured"; readonly id: string; readonly coloured: Coloured | null }
  | { readonly type: "focus"; readonly where: "composer" | "question" };

/** One row of a completion list; `insert` replaces what was typed, `attach` puts a chip instead. */
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
  /** A mention to attach (`path`, `path#L1-20`, `folder/`), `problems:` + uri or nothing, `changes`, `selection`, `terminal` (what is marked), `terminal:last`, `folder:` or `symbol:` (narrows the list), `@server:uri` (stays in the words), or a `/command`. */
  readonly value: string;
}

/** What the text behind `@` searches: everything, or after `folder:` or `symbol:` only these. */
export function mentionQuery(text: string): {
  readonly only: "folder" | "symbol" | null;
  readonly query: string;
} {
  const only = text.startsWith("folder:") ? "folder" : text.startsWith("symbol:") ? "symbol" : null;
  return { only, query: only === null ? text : text.slice(only.length + 1) };
}

/** Webview → host. */
export type ToHost =
  | { readonly type: "ready" }
  | {
      readonly type: "send";
      readonly text: string;
      readonly how: "auto" | "steer" | "next" | "alone";
    } // attachments are in the host's state; auto: prompt, or queued while a turn runs; alone: words that were not typed, without the draft's attachments
  | { readonly type: "stop" }
  | { readonly type: "typed"; readonly text: string; readonly at?: number } // with each key, long texts debounced 200 ms; kept for reloads; `at` counts the changes
  | {
      readonly type: "answer";
      readonly nonce: string;
      readonly answer: "no" | "once" | "session" | "always";
      readonly hunks: readonly string[] | null;
    }
  | { readonly type: "openQuestion"; readonly nonce: string } // its whole text as a read-only document
  | { readonly type: "said"; readonly nonce: string; readonly text: string | null }
  | { readonly type: "chosen"; readonly nonce: string; readonly option: number } // index of the option, from 0
  | { readonly type: "find"; readonly id: number; readonly what: "@" | "/"; readonly query: string }
  | { readonly type: "attachMention"; readonly value: string; readonly label: string }
  | {
      readonly type: "attachImage";
      readonly label: string;
      readonly mime: string;
      readonly data: string;
    } // base64
  | { readonly type: "attachText"; readonly label: string; readonly text: string }
  | { readonly type: "attachUris"; readonly uris: readonly string[] } // dropped from the explorer or an editor tab
  | { readonly type: "pickContext" } // "+ Add context": the editor's own picker
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
        | "chooseModel";
    }
  | {
      readonly type: "verdict";
      readonly verdict: "accept" | "reject";
      readonly hunks: readonly string[];
    }
  | { readonly type: "openDiff"; readonly path: string | null; readonly turn: number | null } // null: all files
  | { readonly type: "openFile"; readonly target: string } // `path`, `path:12`, `path:12-20`: inside the workspace only
  | { readonly type: "openLink"; readonly href: string } // https only; the host asks with the real target shown
  | { readonly type: "openTool"; readonly id: string; readonly turn: number } // fetch result and arguments of a card
  | { readonly type: "copy"; readonly text: string }
  | {
      readonly type: "colour";
      readonly id: string;
      readonly code: string;
      readonly language: string;
      readonly theme: string; // id of the editor's theme
    }
  | { readonly type: "insertCode"; readonly text: string } // at the cursor of the active editor
  | { readonly type: "applyCode"; readonly text: string; readonly target: string | null } // as an edit with a diff first
  | {
      readonly type: "queue";
      readonly action: "remove" | "move" | "edit" | "hold" | "resume";
      readonly id: string | null;
      readonly to: number | null;
      readonly text: string | null;
    }
  | { readonly type: "older" } // fetch the previous page
  | { readonly type: "rewind"; readonly turn: number; readonly files: boolean | null } // null: the host asks
  | { readonly type: "fork"; readonly turn: number }
  | { readonly type: "forkSession"; readonly session: string } // of the list: from the end of its last turn
  | { readonly type: "resend"; readonly turn: number; readonly text: string } // rewind to before `turn`, then send these words; the same words: retry
  /** `open`: its document. `text` goes with `approve`: what was on the screen; null: what stands in the document. `words` go with `reject`. */
  | {
      readonly type: "plan";
      readonly action: "approve" | "reject" | "open";
      readonly text: string | null;
      readonly words: string | null;
    }
  | { readonly type: "commands"; readonly stop: string | null } // how the background commands stand; one is stopped first
  | { readonly type: "retry" } // send the failed turn's text again
  | { readonly type: "sessions"; readonly query: string; readonly more: boolean }
  | { readonly type: "closeSessions" }
  | { readonly type: "openSession"; readonly session: string }
  | { readonly type: "renameSession"; readonly session: string; readonly title: string }
  | { readonly type: "deleteSession"; readonly session: string }
  | { readonly type: "exportSession"; readonly session: string }
  | { readonly type: "mcp"; readonly action: "open" | "close" | "cancel" }
  | {
      readonly type: "mcpServer";
      readonly action: "approve" | "restart" | "remove" | "login";
      readonly name: string;
    }
  | { readonly type: "mcpAdd"; readonly form: McpForm }
  | { readonly type: "firstRun"; readonly step: "refresh" | "cancel" }
  | {
      readonly type: "login";
      readonly provider: string;
      readonly key: string | null;
      readonly url: string | null;
      readonly model: string | null;
    }
  | { readonly type: "closeBanner" };
