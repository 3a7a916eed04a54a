/**
 * The state of the chat panel, as one frozen value. The extension host owns the state; the webview
 * has a copy that the same reducer updates. Independent of VS Code, the DOM and clocks.
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
} from "../../protocol.ts";
import type { McpPage } from "../mcp-page.ts";

/** The state of the language server; `reason` and `waiting` (why prompts wait) are sentences for the user. */
export type Connection =
  | { readonly kind: "starting"; readonly reason: string }
  | { readonly kind: "ready"; readonly waiting?: string }
  | { readonly kind: "restarting"; readonly reason: string }
  // If unset, the server stopped by itself.
  | { readonly kind: "stopped"; readonly reason: string; readonly byUser?: boolean };

/** How a turn ended; `running` means that the turn has not ended yet. */
export type TurnEnding =
  | "running"
  | "done"
  | "cancelled"
  | "failed"
  | "limit"
  | "repeated"
  | "budget"
  | "interrupted";

/**
 * A part of the model's text (Markdown), or of its reasoning; `final` means that no text will be
 * added.
 */
export interface TextPart {
  readonly kind: "text" | "thinking";
  readonly key: string;
  readonly text: string;
  readonly final: boolean;
  /** Milliseconds from the first to the last text delta, if known. */
  readonly ms: number | null;
  /** The time of the first text delta, in milliseconds since the epoch, or null if unknown. */
  readonly since: number | null;
}

/**
 * The fields of `toolFinished` that the panel stores unchanged. A new field of the protocol is
 * included automatically.
 */
type CallEndTold = Partial<
  Omit<ToolFinished, keyof ToolPartKnown | "type" | "turn" | "isError" | "agent">
>;

/** One tool call: a line that can be expanded. */
export interface ToolPart extends ToolPartKnown, CallEndTold {}

interface ToolPartKnown {
  readonly kind: "tool";
  readonly key: string;
  readonly id: string;
  readonly name: string;
  readonly target: string;
  readonly state: "running" | "asking" | "done" | "failed" | "denied" | "stopped";
  /** A figure such as `+3 −1` or `7 hits in 3 files`. */
  readonly figure: string;
  readonly seconds: number | null;
  /** Why the call failed or was refused. */
  readonly message: string;
  /**
   * Live output of a command: the newest 64,000 characters; `cut` is the number of earlier
   * characters that were left out.
   */
  readonly output: string;
  readonly cut: number;
  /**
   * The result for the model; null until the user opens the card and the host has fetched the
   * result.
   */
  readonly result: string | null;
  /** The arguments from the model (JSON text); null until the host has fetched the arguments. */
  readonly arguments: string | null;
  /** The complete unified diff of an edit. */
  readonly diffs: readonly EditShown[];
  /** The parts of the sub-agent that the call started, or empty for all other calls. */
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

/** A thin line in the conversation: a compaction, a notice, a steering message or a check. */
export interface LinePart {
  readonly kind: "line";
  readonly key: string;
  readonly what:
    | "compacted"
    | "info"
    | "warning"
    | "error"
    | "steered"
    | "checking"
    | "reading"
    | "retrying";
  readonly text: string;
  /** For `retrying`: the time of the next attempt, in milliseconds since the epoch. */
  readonly until?: number;
}

export type Part = TextPart | ToolPart | LinePart;

/** The labels of a prompt's attachments, such as `invoice.py:41–58`. */
interface ChipShown {
  readonly label: string;
}

/** The fields of `turnFinished` that the panel stores unchanged. */
type TurnEndTold = Partial<
  Omit<
    TurnFinished,
    | keyof TurnKnown
    | ("type" | "turn" | "usage" | "answer" | "rounds" | "figures" | "toReview" | "agent")
  >
>;

/** A prompt and its whole turn. */
export interface Turn extends TurnKnown, TurnEndTold {}

interface TurnKnown {
  readonly session: string;
  /** The turn's number, from 1. */
  readonly number: number;
  readonly words: string;
  readonly title: string;
  readonly chips: readonly ChipShown[];
  /**
   * Pictures that the user sent: `data:` URLs if they were sent from this window, otherwise only
   * labels.
   */
  readonly images: readonly { readonly label: string; readonly url: string | null }[];
  readonly parts: readonly Part[];
  readonly ending: TurnEnding;
  readonly mode: string | null;
  readonly model: string;
  /** A message for the user, in plain words, if the turn did not end normally. */
  readonly message: string;
  readonly draft: string;
  readonly retryable: boolean;
  readonly outgrown: boolean;
  readonly input: number;
  readonly cached: number;
  readonly thinking: number;
  readonly output: number;
  /** The cost in US dollars, or null if the price is unknown. */
  readonly cost: number | null;
  readonly seconds: number | null;
  readonly verified: string;
  readonly changes: readonly {
    readonly path: string;
    readonly added: number;
    readonly removed: number;
  }[];
  /** Whether a rewind discarded the turn, which is then hidden behind "show". */
  readonly left: boolean;
  /**
   * Whether all events of the turn are known: the panel watched the turn from its beginning, or a
   * page contains the turn and its end.
   */
  readonly whole: boolean;
  /**
   * Index of the first part of the newest model call; `text.restart` removes the text from this
   * part on.
   */
  readonly round: number;
  /**
   * The index at which the next text begins another call, because the usage of the newest call was
   * reported; only the reducer uses it.
   */
  readonly next: number | null;
}

/** A prompt that was sent and whose turn has not begun, including one that waits in the queue. */
export interface Outgoing {
  /** The id of the sending, from the host. */
  readonly id: number;
  readonly words: string;
  readonly images: readonly { readonly label: string; readonly url: string }[];
  /**
   * The prompt's session, or null for the shown new session, which has no id yet, or empty for a
   * new session that is not shown.
   */
  readonly session?: string | null;
}

/**
 * The work of a session: a turn runs, a turn waits for an answer, or a turn has ended and the user
 * has not seen this yet.
 */
export type SessionWork = "running" | "asking" | "done" | "failed" | "stopped";

/** A session in this window in which a turn runs, waits, or has ended unseen. */
export interface SessionMark {
  readonly session: string;
  readonly title: string;
  readonly work: SessionWork;
}

/** An open question to the user; the host creates `nonce`, and ignores an answer without it. */
export type Question =
  | {
      readonly kind: "permission";
      readonly nonce: string;
      readonly asked: PermissionParams;
      readonly tool: string | null;
      /**
       * The name and task of a sub-agent, such as `explore: find the tax`, or empty for the main
       * agent.
       */
      readonly agent: string;
    }
  | {
      readonly kind: "ask";
      readonly nonce: string;
      readonly prompt: string;
      readonly placeholder: string;
      /**
       * Whether Indwell or the model asks; a question of the model must look different from all
       * others.
       */
      readonly by: "indwell" | "model";
      /** Answers to choose from; the user may also write a text. */
      readonly options: readonly string[];
      /** The session whose turn asks, or empty if the question belongs to no turn. */
      readonly session?: string;
    };

/** An attachment of the next prompt, shown as a removable chip. */
export type Attachment =
  | {
      readonly kind: "context";
      readonly id: string;
      readonly label: string;
      readonly tokens: number;
    } // The data comes from indwell/context: selection, opened file.
  // The value is `path`, `path#L1-20` or `folder/`.
  | { readonly kind: "mention"; readonly id: string; readonly label: string; readonly path: string }
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
    }
  // The chip means the changes that git would commit.
  | { readonly kind: "changes"; readonly id: string; readonly label: string };

/** A model of a server that runs on this machine. */
export interface NearModel {
  readonly title: string;
  readonly url: string;
  readonly model: string;
}

/** The first-run flow, which replaces the conversation. */
export interface FirstRunState {
  readonly reason: string;
  readonly providers: ProvidersResult | null;
  readonly busy: boolean;
  readonly outcome: LoginResult | null;
  readonly error: string;
}

/** The fetched part of the list of past sessions. */
export interface SessionListState {
  readonly query: string;
  readonly rows: readonly SessionRow[];
  readonly more: boolean;
  readonly loading: boolean;
}

/** A suggestion for an empty panel: the button's label, and the prompt. */
export interface Suggestion {
  readonly title: string;
  readonly prompt: string;
}

/**
 * How to join a draft's text with typed text: put it before or after, or remove it because it was
 * sent.
 */
export type DraftMode = "replace" | "append" | "remove";

/** Settings of the user and the editor for the panel's appearance. */
export interface Looks {
  /** Whether plain Enter sends the prompt; the displayed name of the send key depends on this. */
  readonly enterSends: boolean;
  readonly reducedMotion: boolean;
}

export interface PanelState {
  /** The revision grows with every action, and links a snapshot with the actions after it. */
  readonly revision: number;
  /** Whether the chat is an editor tab, which shows one session. */
  readonly isTab: boolean;
  readonly connection: Connection;
  readonly status: StatusResult | null;
  readonly models: readonly ModelRow[] | null;
  readonly session: string | null;
  /** The title of `session` in its newest page, or empty if the title is unknown. */
  readonly title: string;
  /**
   * Whether the turns come from disk, where they were stored before a reload, because the server
   * has not sent its turns yet.
   */
  readonly isRemembered: boolean;
  /** The number of the newest reduced event of `session`. */
  readonly seq: number;
  /** The fetched turns, oldest first. */
  readonly turns: readonly Turn[];
  /**
   * Prompts that were sent but have not begun; `sending` of selectors.ts leaves out those in the
   * queue.
   */
  readonly outgoing: readonly Outgoing[];
  readonly older: "none" | "some" | "loading";
  readonly questions: readonly Question[];
  readonly queue: {
    readonly seq: number;
    readonly held: string;
    readonly waiting: readonly QueuedResult[];
  };
  /** The pending changes; `rows` are from the latest `indwell/changes`. */
  readonly pending: {
    /** A phrase about the last accept or reject, if it can be undone; otherwise empty. */
    readonly undo: string;
    readonly total: number;
    readonly files: number;
    readonly added: number;
    readonly removed: number;
    readonly rows: readonly ChangeRow[];
  };
  readonly todo: readonly TodoRow[];
  /** The newest plan that the model proposed, in any state. */
  readonly plan: PlanResult | null;
  /** Running and ended background commands, oldest first. */
  readonly commands: readonly BackgroundCommand[];
  readonly attachments: readonly Attachment[];
  readonly context: ContextResult | null;
  /** Selections that were sent with a prompt of this session, so the composer no longer shows them. */
  readonly sentSelections: readonly string[];
  readonly firstRun: FirstRunState | null;
  /** A ready model of a server on this machine, which an empty panel offers before a model is connected. */
  readonly near: NearModel | null;
  readonly list: SessionListState | null;
  readonly mcp: McpPage | null;
  /**
   * All sessions in this window in which a turn runs, waits, or has ended unseen, including the
   * shown session.
   */
  readonly marks: readonly SessionMark[];
  readonly suggestions: readonly Suggestion[];
  /**
   * Text to add to the composer: text that was returned, or text from a command. The composer adds
   * a draft only once for each `id`.
   */
  readonly draft: {
    readonly id: number;
    readonly text: string;
    readonly mode: DraftMode;
  };
  /** Earlier prompts of this workspace, newest first, at most 100 (for the ↑ key). */
  readonly history: readonly string[];
  /** One sentence above the composer, with actions, that the user can close. */
  readonly banner: {
    readonly level: "info" | "warning" | "error";
    readonly text: string;
    readonly retry: boolean;
  } | null;
  readonly looks: Looks;
}

/** No turns, no questions, and no server yet. */
export const initialState: PanelState = {
  revision: 0,
  isTab: false,
  connection: { kind: "starting", reason: "" },
  status: null,
  models: null,
  session: null,
  title: "",
  isRemembered: false,
  seq: 0,
  turns: [],
  outgoing: [],
  older: "none",
  questions: [],
  queue: { seq: 0, held: "", waiting: [] },
  pending: { total: 0, files: 0, added: 0, removed: 0, rows: [], undo: "" },
  todo: [],
  plan: null,
  commands: [],
  attachments: [],
  context: null,
  sentSelections: [],
  firstRun: null,
  near: null,
  list: null,
  mcp: null,
  marks: [],
  suggestions: [],
  draft: { id: 0, text: "", mode: "append" },
  history: [],
  banner: null,
  looks: { enterSends: true, reducedMotion: false },
};
