/**
 * What the chat panel shows, as one frozen value. The extension host owns it; the webview holds a copy that
 * the same reducer keeps in step. Nothing here knows VS Code, the DOM or a clock.
 */
import type {
  BackgroundCommand,
  ChangeRow,
  ContextResult,
  LoginResult,
  ModelRow,
  PermissionParams,
  PlanResult,
  ProvidersResult,
  QueuedResult,
  SessionRow,
  StatusResult,
  TodoRow,
  ToolFinished,
  TurnFinished,
} from "../protocol.ts";

/** How the language server is doing; `reason` is one sentence for the user, and so is `waiting`: what prompts wait for. */
export type Connection =
  | { readonly kind: "starting"; readonly reason: string }
  | { readonly kind: "ready"; readonly waiting?: string }
  | { readonly kind: "restarting"; readonly reason: string }
  | { readonly kind: "stopped"; readonly reason: string; readonly byUser?: boolean }; // not set: by itself

/** How a turn ended; `running` while it does not. */
export type TurnEnding =
  | "running"
  | "done"
  | "cancelled"
  | "failed"
  | "limit"
  | "repeated"
  | "budget"
  | "interrupted";

/** A run of the model's own words (Markdown), or of its reasoning. `final`: no more will be added to it. */
export interface TextPart {
  readonly kind: "text" | "thinking";
  readonly key: string;
  readonly text: string;
  readonly final: boolean;
  /** Milliseconds from the first to the last piece, where known. */
  readonly ms: number | null;
  /** When the first piece came, in milliseconds since the epoch; null where nobody knows. */
  readonly since: number | null;
}

/** What `toolFinished` tells and the panel keeps as it is: a field more needs no line here. */
type CallEndTold = Partial<
  Omit<ToolFinished, keyof ToolPartKnown | "type" | "turn" | "isError" | "agent">
>;

/** One tool call: a line that opens. */
export interface ToolPart extends ToolPartKnown, CallEndTold {}

interface ToolPartKnown {
  readonly kind: "tool";
  readonly key: string;
  readonly id: string;
  readonly name: string;
  readonly target: string;
  readonly state: "running" | "asking" | "done" | "failed" | "denied" | "stopped";
  /** Such as `+3 −1` or `7 hits in 3 files`. */
  readonly figure: string;
  readonly seconds: number | null;
  /** Why it failed or was refused. */
  readonly message: string;
  /** Live output of a command: the newest 64,000 characters; `cut` counts those left out before. */
  readonly output: string;
  readonly cut: number;
  /** The result as the model got it; null until somebody opened the card and the host fetched it. */
  readonly result: string | null;
  /** What the model wrote as arguments (JSON text); null until fetched. */
  readonly arguments: string | null;
  /** Of an edit: unified, whole. */
  readonly diffs: readonly EditShown[];
  /** What the sub-agent does that the call began; empty for all other calls. */
  readonly inner: readonly Part[];
  /** Tokens that the sub-agent has used so far. */
  readonly tokens: number;
}

/** A file that a call changed. */
export interface EditShown {
  readonly path: string;
  readonly added: number;
  readonly removed: number;
  readonly diff: string;
  readonly created: boolean;
}

/** A thin line in the conversation: a compaction, a notice, steering words, a check. */
export interface LinePart {
  readonly kind: "line";
  readonly key: string;
  readonly what: "compacted" | "info" | "warning" | "error" | "steered" | "checking" | "reading";
  readonly text: string;
}

export type Part = TextPart | ToolPart | LinePart;

/** What went along with a prompt, in words such as `invoice.py:41–58`. */
export interface ChipShown {
  readonly label: string;
}

/** What `turnFinished` tells and the panel keeps as it is. */
type TurnEndTold = Partial<
  Omit<
    TurnFinished,
    | keyof TurnKnown
    | ("type" | "turn" | "usage" | "answer" | "rounds" | "figures" | "toReview" | "agent")
  >
>;

/** A prompt and all that came of it. */
export interface Turn extends TurnKnown, TurnEndTold {}

interface TurnKnown {
  readonly session: string;
  /** 1-based. */
  readonly number: number;
  readonly words: string;
  readonly title: string;
  readonly chips: readonly ChipShown[];
  /** Pictures that the user sent: `data:` URLs where the host has them (this window), else only labels. */
  readonly images: readonly { readonly label: string; readonly url: string | null }[];
  readonly parts: readonly Part[];
  readonly ending: TurnEnding;
  readonly mode: string | null;
  readonly model: string;
  /** For the user, in plain words, when it did not simply end. */
  readonly message: string;
  readonly draft: string;
  readonly retryable: boolean;
  readonly outgrown: boolean;
  readonly input: number;
  readonly cached: number;
  readonly thinking: number;
  readonly output: number;
  /** US dollars; null: the price is not known. */
  readonly cost: number | null;
  readonly seconds: number | null;
  readonly verified: string;
  readonly changes: readonly {
    readonly path: string;
    readonly added: number;
    readonly removed: number;
  }[];
  /** A rewind left it behind: not shown, but behind "show". */
  readonly left: boolean;
  /** Nothing of it is missing: it was watched from its begin, or it is a finished one of a page. */
  readonly whole: boolean;
  /** Index of the first part of the newest model call; `text.restart` forgets the words from there on. */
  readonly round: number;
  /** The newest call has been counted: the next words begin a call at this index. For the reducer alone. */
  readonly next: number | null;
}

/** A prompt on its way: it was sent, and its turn has not begun. One that waits in the queue is here too. */
export interface Outgoing {
  /** Of the sending; the host's. */
  readonly id: number;
  readonly words: string;
  readonly images: readonly { readonly label: string; readonly url: string }[];
}

/** A question that waits for the user. `nonce` is the host's; an answer without it counts for nothing. */
export type Question =
  | {
      readonly kind: "permission";
      readonly nonce: string;
      readonly asked: PermissionParams;
      readonly tool: string | null;
      /** Of a sub-agent: its name and its task, such as `explore: find the tax`; empty for the main one. */
      readonly agent: string;
    }
  | {
      readonly kind: "ask";
      readonly nonce: string;
      readonly prompt: string;
      readonly placeholder: string;
      /** Whose question it is; the model's own must look like no other. */
      readonly by: "indwell" | "model";
      /** Answers to choose from, beside words of the user's own. */
      readonly options: readonly string[];
    };

/** Something that goes with the next prompt, shown as a removable chip. */
export type Attachment =
  | {
      readonly kind: "context";
      readonly id: string;
      readonly label: string;
      readonly tokens: number;
    } // of indwell/context: selection, opened file
  | { readonly kind: "mention"; readonly id: string; readonly label: string; readonly path: string } // `path`, `path#L1-20`, `folder/`
  | {
      readonly kind: "image";
      readonly id: string;
      readonly label: string;
      readonly mime: string;
      readonly data: string;
    }
  | { readonly kind: "text"; readonly id: string; readonly label: string; readonly text: string }
  | {
      readonly kind: "problems";
      readonly id: string;
      readonly label: string;
      readonly uri: string | null;
    };

/** The first-run flow in place of the conversation. */
export interface FirstRunState {
  readonly reason: string;
  readonly providers: ProvidersResult | null;
  readonly busy: boolean;
  readonly outcome: LoginResult | null;
  readonly error: string;
}

/** A list of past sessions, as far as it was fetched. */
export interface SessionListState {
  readonly query: string;
  readonly rows: readonly SessionRow[];
  readonly more: boolean;
  readonly loading: boolean;
}

/** A suggestion for an empty panel: what the button says, and what is sent. */
export interface Suggestion {
  readonly title: string;
  readonly prompt: string;
}

/** Where a draft's words go: before or behind what is typed, or away, as they were sent after all. */
export type DraftMode = "replace" | "append" | "remove";

/** What the user's settings and the editor say about looks. */
export interface Looks {
  /** Name shown for the send key, and whether plain Enter sends. */
  readonly enterSends: boolean;
  readonly reducedMotion: boolean;
}

export interface PanelState {
  /** Grows with every action; a snapshot and the actions after it fit together by it. */
  readonly revision: number;
  readonly connection: Connection;
  readonly status: StatusResult | null;
  readonly models: readonly ModelRow[] | null;
  readonly session: string | null;
  /** Of the newest event of `session` that was taken in. */
  readonly seq: number;
  /** Oldest first; at most those that were fetched. */
  readonly turns: readonly Turn[];
  /** Sent, but not begun; `sending` of selectors.ts leaves out those that stand in the queue. */
  readonly outgoing: readonly Outgoing[];
  readonly older: "none" | "some" | "loading";
  readonly questions: readonly Question[];
  readonly queue: {
    readonly seq: number;
    readonly held: string;
    readonly waiting: readonly QueuedResult[];
  };
  /** Pending changes; `rows` as `indwell/changes` said last. */
  readonly pending: {
    readonly total: number;
    readonly files: number;
    readonly added: number;
    readonly removed: number;
    readonly rows: readonly ChangeRow[];
  };
  readonly todo: readonly TodoRow[];
  /** The newest plan that the model proposed, whatever became of it. */
  readonly plan: PlanResult | null;
  /** Commands that run beside the conversation, and those that did; oldest first. */
  readonly commands: readonly BackgroundCommand[];
  readonly attachments: readonly Attachment[];
  readonly context: ContextResult | null;
  readonly firstRun: FirstRunState | null;
  readonly list: SessionListState | null;
  readonly suggestions: readonly Suggestion[];
  /** Words that came back or were put there by a command; the composer takes them in once per `id`. */
  readonly draft: {
    readonly id: number;
    readonly text: string;
    readonly mode: DraftMode;
  };
  /** Earlier prompts of this workspace, newest first, at most 100 (for ↑). */
  readonly history: readonly string[];
  /** One sentence above the composer that the user can close; with what can be done about it. */
  readonly banner: {
    readonly level: "info" | "warning" | "error";
    readonly text: string;
    readonly retry: boolean;
  } | null;
  readonly looks: Looks;
}
