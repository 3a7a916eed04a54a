/**
 * The messages of Indwell's own, as `docs/protocol.md` explains them.
 * Written by scripts/protocol_typescript.py from docs/protocol.schema.json (`scripts/fix`).
 */

/** Code from an answer that the user applies to an open document as a pending change. */
export interface ApplyParams {
  /** The URI of the document. */
  readonly uri: string;
  /** The version of the document from which `text` was made. */
  readonly version: number;
  /** The whole text of the document with the code. */
  readonly text: string;
  /** The session of the answer. */
  readonly session: string;
  /** The turn of the answer. */
  readonly turn: number;
}

/** The number of changes in all files that await review now. */
export interface ApplyResult {
  readonly pending: number;
}

/** A question to the user, which is answered with a line of text or with an option. */
export interface AskParams {
  /** The question; if the model asks, only its visible text, at most 1,000 characters. */
  readonly prompt: string;
  /** An example of an answer. */
  readonly placeholder: string;
  /**
   * The asker. A question of the model is never a permission question, and must not look like a permission
   * question.
   */
  readonly by: "indwell" | "model";
  /** Answers to choose from, one line each; the user may type another answer. */
  readonly options: readonly string[];
  /** The session whose turn asks, or empty if no turn asks. */
  readonly session: string;
  /** The id of the tool call that asks, as in `toolStarted`, or empty if no call asks. */
  readonly id: string;
}

/** The typed text, or the 0-based index of the chosen option; both null without an answer. */
export interface AskResult {
  readonly text?: string | null;
  readonly chosen?: number | null;
}

/** Context that was sent with a message; emitted only when a session is read from disk. */
export interface Attached {
  readonly type: "attached";
  readonly turn: number;
  /** The source of the context, such as `environment`. */
  readonly source: string;
  /** The whole text; for a picture, only the media type, such as `image/png`. */
  readonly text: string;
  /** The name of a picture, or empty for text. */
  readonly label: string;
  readonly agent: string;
}

/** A part of the next prompt's context, which the client can leave out by its `id`. */
export interface AttachedRow {
  readonly id: string;
  readonly kind: "selection" | "opened";
  readonly label: string;
  readonly tokens: number;
}

/** An attachment of a prompt; `kind` decides which fields are used. */
export interface Attachment {
  /**
   * `image` uses `mime` and `data`. `text` (pasted or from a terminal) uses `text`. `problems` attaches the
   * problems that the editor reports for `uri`, or for all documents. `changes` attaches what git would commit,
   * like `@changes` in the prompt.
   */
  readonly kind: "image" | "text" | "problems" | "changes";
  /** The displayed name of the attachment. */
  readonly label?: string;
  /** The media type: `image/png`, `image/jpeg`, `image/gif` or `image/webp`. */
  readonly mime?: string;
  /** The picture in Base64. */
  readonly data?: string;
  /** The unchanged text. */
  readonly text?: string;
  /** The URI of the document whose problems are attached. */
  readonly uri?: string | null;
}

/** The state of a background command. */
export interface BackgroundCommand {
  /** The command's id, such as `b1`; unique in the session. */
  readonly id: string;
  /** The command's text. */
  readonly command: string;
  /** Whether the command is running, has ended by itself, or was stopped. */
  readonly state: "ended" | "running" | "stopped";
  /** The exit code once the command has ended; negative for a signal. */
  readonly exitCode: number | null;
  /** How long the command has run. */
  readonly seconds: number;
  /** The last lines of the output, for lists. */
  readonly tail: string;
  /** The file with the output, or empty if the output was not kept. */
  readonly path: string;
  /** Who stopped the command, `model` or `user`, or empty if it ended by itself. */
  readonly by: string;
}

/**
 * One block of the next request; `anchor` is true if a cached prefix may end after it.
 *
 * `message` is the index of the block's message (-1 for tools and system prompt). The block represents the
 * messages `first` to `last` of the transcript. `altered` is true if compaction changed the block, and `why`
 * gives the reason.
 */
export interface BlockRow {
  readonly message: number;
  readonly role: "tools" | "system" | "user" | "assistant";
  readonly kind: string;
  readonly source: string;
  readonly tier: 0 | 1 | 2 | 3;
  readonly tokens: number;
  readonly turn: number;
  readonly pinned: boolean;
  readonly compactable: boolean;
  readonly anchor: boolean;
  readonly state: "sent" | "new" | "waiting";
  readonly altered: boolean;
  readonly first: number;
  readonly last: number;
  readonly why: string;
  readonly preview: string;
}

/** The argument of `indwell.cancel`, which may be left out. */
export interface CancelArguments {
  /** The session whose turn is stopped; by default the current session. */
  readonly session?: string | null;
}

/** One pending change; `turn` and `session` name the newest turn that contributed. */
export interface ChangeRow {
  /** The id, which stays the same while the change has the same contents, wherever it moves. */
  readonly id: string;
  /** The document's URI in the editor. */
  readonly uri: string;
  /** The displayed path of the file. */
  readonly path: string;
  /** The range of the new lines; if there are none, the start of the nearest line. */
  readonly range: Range;
  /** The removed lines with their line breaks. */
  readonly old: string;
  /** The added lines. */
  readonly new: string;
  /** The number of the turn, from 1. */
  readonly turn: number;
  /** The session's id. */
  readonly session: string;
  /** Whether the user has changed the lines since; if so, Indwell asks before a reject. */
  readonly touched: boolean;
  /** `create` and `delete` concern whole files; `opaque` is not text or too large. */
  readonly kind: "change" | "create" | "delete" | "opaque";
  /** The description of an opaque change, for people. */
  readonly note: string;
}

/**
 * Selects pending changes by file, turn and session; without a field, selects all changes.
 *
 * A `turn` without a `session` is a turn of the current session.
 */
export interface ChangesParams {
  readonly uri?: string | null;
  readonly turn?: number | null;
  readonly session?: string | null;
}

/**
 * The pending changes by file and line; `files`, `added` and `removed` are counts.
 *
 * `pending` is the number of changes in the whole workspace. `undo` describes the accept or reject that
 * `indwell.undoVerdict` undoes next, such as `accepted 1 change in a.py`, or empty if there is none.
 */
export interface ChangesResult {
  readonly changes: readonly ChangeRow[];
  readonly files: number;
  readonly added: number;
  readonly removed: number;
  readonly pending: number;
  readonly undo: string;
}

/** The argument of `indwell.chat`; all fields are optional. */
export interface ChatArguments {
  /** The document to open, which is created if it is missing. */
  readonly uri?: string | null;
  /** The session of the document; the current session if `uri` is also left out. */
  readonly session?: string | null;
  /** Whether to begin a new chat. */
  readonly new?: boolean;
  /** Whether to answer only when the chat is open. */
  readonly wait?: boolean;
}

/** The chat document: its URI, and whether the editor has opened the document. */
export interface ChatResult {
  readonly uri: string;
  readonly path: string;
  readonly session: string | null;
  readonly shown: boolean;
}

/** A check of the project such as `mypy`, or a slow hook, has started. */
export interface Checking {
  readonly type: "checking";
  readonly turn: number;
  readonly what: string;
  readonly agent: string;
}

/** As in LSP. */
export interface CodeDescription {
  readonly href: string;
}

/** A background command began, ended or was stopped; the event lists all commands. */
export interface CommandsChanged {
  readonly type: "commandsChanged";
  readonly turn: number;
  readonly commands: readonly BackgroundCommand[];
  readonly agent: string;
}

/**
 * Asks for a session's background commands, and first stops the command with id `stop`.
 *
 * `session` is by default the current session.
 */
export interface CommandsParams {
  readonly session?: string | null;
  readonly stop?: string | null;
}

/**
 * All background commands of a session, oldest first, or null if there is no session.
 *
 * Each entry is like those of `CommandsChanged`, with the present output.
 */
export interface CommandsResult {
  readonly session: string | null;
  readonly commands: readonly BackgroundCommand[];
}

/** The argument of `indwell.commitMessage`; all fields are optional. */
export interface CommitMessageArguments {
  /** A folder of the repository; by default the first folder of the workspace. */
  readonly uri?: string | null;
  /** Whether the client shows the message itself, and gets problems as errors. */
  readonly quiet?: boolean;
  /** Whether to answer only when the message is written. */
  readonly wait?: boolean;
}

/** A message for a git commit. */
export interface CommitMessageResult {
  /** The text of the message. */
  readonly message: string;
  /** Whether the message describes the staged changes, not those of the working tree. */
  readonly staged: boolean;
}

/** Older parts of the conversation are shorter from the next request on. */
export interface Compacted {
  readonly type: "compacted";
  readonly turn: number;
  /** The method of compaction, such as `digest`, `regions` or `slide`. */
  readonly layer: string;
  /** The number of tokens in the prompt before the compaction. */
  readonly before: number;
  /** The number of tokens in the prompt afterwards. */
  readonly after: number;
  /** More information for the user; often empty. */
  readonly note: string;
  readonly agent: string;
}

/** A request to a model of the editor; `id` names the reply in `ModelPiecesParams`. */
export interface CompleteParams {
  readonly id: string;
  readonly request: ModelRequest;
}

/** The end of a model's reply, after the last part. */
export interface CompleteResult {
  /** The editor's name for the error, or empty if there is no error. */
  readonly code?: string;
  /** The error's message, or empty if the reply is complete. */
  readonly message?: string;
}

/**
 * The session whose next request is described; by default the current one.
 *
 * For a session that is not open, `session` is null in the answer, and only attachments are listed.
 */
export interface ContextParams {
  readonly session?: string | null;
}

/**
 * The contents of the next request.
 *
 * `window` and `budget` are in tokens, null before the first turn. `used` is an estimate, and `share` is its
 * share of the budget, from 0 on. The tokens are also given by source and by tier. `preset` is the compaction
 * preset with its layers. `health` describes the session so far, null before the first turn. `parts` divides the
 * window, on the scale of `used`, and is empty before the first turn.
 */
export interface ContextResult {
  readonly session: string | null;
  readonly model: string;
  readonly window: number | null;
  readonly budget: number | null;
  readonly used: number;
  readonly share: number | null;
  readonly preset: string;
  readonly headroom: readonly HeadroomRow[];
  readonly sources: Readonly<Record<string, number>>;
  readonly tiers: Readonly<Record<string, number>>;
  readonly blocks: readonly BlockRow[];
  readonly attached: readonly AttachedRow[];
  readonly health: HealthRow | null;
  readonly parts: readonly WindowPartRow[];
}

/** Names the session to delete permanently. */
export interface DeleteParams {
  readonly session: string;
}

/** Whether the session was deleted. */
export interface DeleteResult {
  readonly deleted: boolean;
}

/** No fields. */
export type DemoParams = Readonly<Record<string, never>>;

/** A made-up project: the project of a demo's window, or a new one on this machine. */
export interface DemoResult {
  /** The path of the project's folder. */
  readonly folder: string;
  /** The path of the file with a fault. */
  readonly file: string;
  /** The first line of the faulty function, 0-based. */
  readonly first: number;
  /** The last line of the faulty function, 0-based. */
  readonly last: number;
}

/** Names the part of the next prompt's context to leave out, for that prompt only. */
export interface DetachParams {
  readonly id: string;
}

/** The remaining attachments. */
export interface DetachResult {
  readonly attached: readonly AttachedRow[];
}

/** As in LSP. */
export interface Diagnostic {
  readonly range: Range;
  readonly message: string;
  readonly severity?: 1 | 2 | 3 | 4 | null | undefined;
  readonly code?: number | string | null | undefined;
  readonly codeDescription?: CodeDescription | null | undefined;
  readonly source?: string | null | undefined;
  readonly tags?: readonly (1 | 2)[] | null | undefined;
  readonly relatedInformation?: readonly DiagnosticRelatedInformation[] | null | undefined;
  readonly data?: unknown | undefined;
}

/** As in LSP. */
export interface DiagnosticRelatedInformation {
  readonly location: Location;
  readonly message: string;
}

/** Asks for the problems in the present texts of these documents. */
export interface DiagnosticsParams {
  /** Documents, open or not. */
  readonly uris: readonly string[];
  /**
   * The number of seconds to wait for the checkers. The client should answer as soon as all have finished, and
   * at once if the number is 0.
   */
  readonly wait: number;
}

/** The problems by document; documents without known problems are left out. */
export interface DiagnosticsResult {
  readonly documents: readonly DocumentDiagnostics[];
}

/** All problems of one document, from all servers; see `DocumentDiagnostics`. */
export interface DidChangeDiagnosticsParams {
  readonly uri: string;
  readonly diagnostics: readonly Diagnostic[];
  readonly version?: number | null;
  readonly sources?: readonly SourceDiagnostics[];
}

/** The list of the editor's models has changed; the server asks for the list when needed. */
export type DidChangeEditorModelsParams = Readonly<Record<string, never>>;

/** The user selected text; the server reads the text from the synchronised document. */
export interface DidChangeSelectionParams {
  readonly uri: string;
  readonly version: number;
  readonly ranges: readonly Range[];
}

/** The document that has the focus now, or null. */
export interface DidFocusParams {
  readonly uri?: string | null;
}

/** All problems of one document, from all servers except Indwell. */
export interface DocumentDiagnostics {
  /** The URI of the request. */
  readonly uri: string;
  /** The problems that belong to no checker in `sources`. */
  readonly diagnostics: readonly Diagnostic[];
  /**
   * The version of the text that every checker examined, if known. Without the present version, the problems
   * verify nothing.
   */
  readonly version?: number | null;
  /**
   * Each checker of the document, with its report. Only a client that separates checkers can say which of them
   * has checked a text.
   */
  readonly sources?: readonly SourceDiagnostics[];
}

/** The text of a file has changed; `diff` is the complete unified diff. */
export interface EditApplied {
  readonly type: "editApplied";
  readonly turn: number;
  readonly id: string;
  readonly path: string;
  readonly added: number;
  readonly removed: number;
  readonly diff: string;
  readonly created: boolean;
  readonly verified: boolean;
  readonly agent: string;
}

/** A language model that the editor provides. */
export interface EditorModelRow {
  /** The vendor of the model. */
  readonly vendor: string;
  /** The vendor's id of the model, which Indwell calls `VENDOR/ID@vscode`. */
  readonly id: string;
  /** The limit of tokens for a prompt, or null if unknown. */
  readonly window?: number | null;
  /** Whether the model accepts pictures, or null if unknown. */
  readonly pictures?: boolean | null;
  /** Whether the model accepts tools, or null if unknown. */
  readonly tools?: boolean | null;
}

/** The parameters are empty. */
export type EditorModelsParams = Readonly<Record<string, never>>;

/** All language models that the editor offers now. */
export interface EditorModelsResult {
  readonly models: readonly EditorModelRow[];
}

/** The argument of `indwell.effort`. */
export interface EffortArguments {
  /** The reasoning effort from the next turn on; empty to let the model decide. */
  readonly effort: "" | "none" | "minimal" | "low" | "medium" | "high" | "xhigh" | "max";
  /** An open session; if left out, the current session and all later sessions. */
  readonly session?: string | null;
}

/** What happens in a turn; `type` tells which. */
export type Event =
  | Attached
  | Checking
  | CommandsChanged
  | Compacted
  | EditApplied
  | HunksChanged
  | Notice
  | PermissionAnswered
  | PermissionAsked
  | PlanChanged
  | PromptRead
  | QuestionAnswered
  | QuestionAsked
  | QueueChanged
  | Steered
  | TasksChanged
  | TextAdded
  | ThinkingAdded
  | TodoChanged
  | ToolFinished
  | ToolOutput
  | ToolStarted
  | TurnFinished
  | TurnStarted
  | UsageReported;

/** One event of a session; `seq` counts from 1 without gaps. */
export interface EventParams {
  readonly session: string;
  readonly seq: number;
  readonly event: Event;
}

/** Asks for the events of a session after a sequence number. */
export interface EventsParams {
  readonly session: string;
  readonly after?: number;
}

/**
 * The events after a number; `complete` is false if some are missing.
 *
 * The client continues after the number `next`.
 */
export interface EventsResult {
  readonly session: string;
  readonly events: readonly NumberedEvent[];
  readonly next: number;
  readonly complete: boolean;
}

/** The number of lines that a whole turn added and removed in one file. */
export interface FileChanged {
  readonly path: string;
  readonly added: number;
  readonly removed: number;
}

/** The number of lines added and removed in one file. */
export interface FileResult {
  readonly path: string;
  readonly added: number;
  readonly removed: number;
}

/** No model can be called for this `reason`; the client helps the user connect a model. */
export interface FirstRunParams {
  readonly reason: string;
}

/** True if a model can be called now; false if the user declined. */
export interface FirstRunResult {
  readonly ok: boolean;
}

/** The argument of `indwell.fork`; all fields are optional. */
export interface ForkArguments {
  /** The session to copy; by default the current session. */
  readonly session?: string | null;
  /**
   * The fork continues from the end of this turn. The default is the last turn that has ended, and 0 means
   * before the first turn.
   */
  readonly turn?: number | null;
  /** One of the user's models, to replace the turn's model. */
  readonly model?: string | null;
  /** Whether to answer only when the fork exists. */
  readonly wait?: boolean;
  /** Whether a running turn continues beside the fork; otherwise the turn is stopped. */
  readonly keep?: boolean;
  /** Whether the current session stays the current one; if so, no turn is stopped. */
  readonly beside?: boolean;
}

/** A compaction layer, which may run at `at` tokens, after `left` more tokens. */
export interface HeadroomRow {
  readonly layer: string;
  readonly at: number;
  readonly left: number;
  readonly pays: boolean;
}

/**
 * Statistics of calls, cache and compactions, named as in `request.cache_health`.
 *
 * `turn` describes the newest turn, and `session` all turns. `misses` counts consecutive calls that read no
 * cached token although a prefix should have been cached.
 */
export interface HealthRow {
  readonly turn: Readonly<Record<string, unknown>>;
  readonly session: Readonly<Record<string, unknown>>;
  readonly misses: number;
}

/** One hunk of an edit in a question: the escaped name, position and lines. */
export interface HunkShown {
  readonly id: string;
  readonly header: string;
  readonly text: string;
}

/** The set of changes that await review has changed, after an edit or a verdict. */
export interface HunksChanged {
  readonly type: "hunksChanged";
  readonly turn: number;
  /** The number of changes that await review, in all sessions of this workspace. */
  readonly pending: number;
  /** The paths of files with changes that await review. */
  readonly files: readonly string[];
  readonly agent: string;
}

/** A change that was not accepted or rejected, with the reason; `id` may be empty (a file). */
export interface KeptRow {
  readonly id: string;
  readonly uri: string;
  readonly path: string;
  readonly why: string;
}

/** A provider on the network, by name; `page` is the page where the user creates a key. */
export interface KnownRow {
  readonly name: string;
  readonly title: string;
  readonly url: string;
  readonly page: string;
}

/** A model server on this machine; `note` names a problem, or why the server is not ready. */
export interface LocalRow {
  readonly name: string;
  readonly title: string;
  readonly url: string;
  readonly models: readonly string[];
  readonly ready: boolean;
  readonly note: string;
}

/** As in LSP. */
export interface Location {
  readonly uri: string;
  readonly range: Range;
}

/**
 * A key for an endpoint; `url` and `model` are needed if the provider implies neither.
 *
 * `keep` says where the key is stored: in the system's keyring, or by the client, which then gets the key's
 * origin.
 */
export interface LoginParams {
  readonly provider: string;
  readonly key?: string | null;
  readonly url?: string | null;
  readonly model?: string | null;
  readonly keep?: "keyring" | "client";
}

/**
 * The result of a login, never with the key.
 *
 * `models` lists the models to choose from, if no model was chosen.
 *
 * `origin` is the origin whose key the client has to store, or empty if there is no such key.
 */
export interface LoginResult {
  readonly ok: boolean;
  readonly model: string;
  readonly message: string;
  readonly steps: readonly StepRow[];
  readonly notes: readonly string[];
  readonly models: readonly string[];
  readonly origin: string;
}

/** The argument of `indwell.mcp`: the fields of `indwell/mcp`, and the field `wait`. */
export interface McpArguments {
  readonly action?: "list" | "add" | "remove" | "approve" | "restart" | "login" | "log";
  readonly name?: string;
  readonly command?: readonly string[];
  readonly url?: string;
  readonly variables?: readonly string[];
  readonly hosts?: readonly string[];
  readonly header?: string;
  readonly header_variable?: string;
  readonly wait?: boolean;
}

/** A prompt or resource of a server: the text that the user writes, with `/` or `@`. */
export interface McpOffer {
  readonly text: string;
  readonly description: string;
}

/** The action to carry out before the MCP servers are listed. */
export interface McpParams {
  /**
   * `add` adds a server to the user's settings; `approve` asks the user about a project's server; `restart`
   * stops a server, which starts again when it is needed; `login` opens a login in the browser, and waits for
   * its end; `log` reads the log of a server that an open session uses.
   */
  readonly action?: "list" | "add" | "remove" | "approve" | "restart" | "login" | "log";
  /** The server's name. */
  readonly name?: string;
  /** The program and its arguments, for `add`. */
  readonly command?: readonly string[];
  /** The address, for `add`, if the server is not a program. */
  readonly url?: string;
  /** The names of the user's variables that the program gets, for `add`. */
  readonly variables?: readonly string[];
  /** The hosts that the program may reach from its sandbox, for `add`. */
  readonly hosts?: readonly string[];
  /** A header for the address, for `add`; `header_variable` gives its value. */
  readonly header?: string;
  /** The name of the user's variable that has the header's value. */
  readonly header_variable?: string;
}

/** The MCP servers of the workspace. */
export interface McpResult {
  /** The servers. */
  readonly servers: readonly McpRow[];
  /** A sentence for each wrong definition. */
  readonly problems: readonly string[];
  /**
   * The newest lines of the log of the named server, for `log`, each with its time and source. Secrets are
   * hidden.
   */
  readonly log: readonly string[];
}

/** One MCP server. */
export interface McpRow {
  /** The server's name. */
  readonly name: string;
  /**
   * `usable`, `open` (the user has not decided), `declined`, `restricted` (the server's folder is not trusted),
   * or `off`.
   */
  readonly standing: "usable" | "open" | "declined" | "restricted" | "off";
  /** The state of the connection; `idle` if no session needs the server yet. */
  readonly state: string;
  /** The reason why the server does not run, or empty if there is no problem. */
  readonly problem: string;
  /** The displayed path of the server's definition. */
  readonly source: string;
  /** Whether the server is in the user's own settings, and can be removed there. */
  readonly own: boolean;
  /** The server's command line or address, as written. */
  readonly runs: string;
  /** The number of tools, or null if not known yet. */
  readonly tools: number | null;
  /** The server's prompts, such as `/server:prompt`, or empty before the server runs. */
  readonly prompts: readonly McpOffer[];
  /** The server's resources, such as `@server:uri`. */
  readonly resources: readonly McpOffer[];
  /** Whether the server is at an address, and may require a login. */
  readonly remote: boolean;
  /** The server's tools, at most 200, or empty before the server runs. */
  readonly offers: readonly McpTool[];
}

/** A tool of a server. */
export interface McpTool {
  /** The tool's name, as the server spells it. */
  readonly name: string;
  /** The first words of the server's description. */
  readonly description: string;
  /** What the server claims about the tool, such as `read-only`; claims have no effect. */
  readonly claims: readonly string[];
  /** The permission by the user's rules; `ask` also if no rule names the tool. */
  readonly permission: "ask" | "allow" | "deny";
  /** The rule that decides, or empty if no rule names the tool. */
  readonly rule: string;
}

/** The argument of `indwell.memory`; all fields are optional. */
export interface MemoryArguments {
  /** Whether the facts are about this workspace, or about the user in all workspaces. */
  readonly scope?: "workspace" | "user";
}

/** The file with the facts: its URI, and whether the editor has opened the file. */
export interface MemoryResult {
  readonly uri: string;
  readonly path: string;
  readonly shown: boolean;
}

/** The argument of `indwell.mode`. */
export interface ModeArguments {
  /** The mode from the next tool call on. */
  readonly mode: "ask" | "review" | "auto" | "plan";
  /** An open session; if left out, the current session and all later sessions. */
  readonly session?: string | null;
}

/**
 * A message to a model; a user message with tool results has no other parts.
 *
 * Each part of the message has a `kind`: `text` has `text`; `picture` has `mime` and `data` (base64); `call` has
 * `id`, `name` and `arguments` (a JSON object as text); `result` has the `id` of its call and `text`.
 */
export interface ModelMessage {
  readonly role: "user" | "assistant";
  readonly parts: readonly (Readonly<Record<string, unknown>>)[];
}

/**
 * Parts of a model's reply, in order.
 *
 * Each part has a `kind`: `text` and `thinking` have `text`; `call` is a complete tool call with `id`, `name`
 * and `arguments` (JSON as text). Other kinds are ignored.
 */
export interface ModelPiecesParams {
  readonly id: string;
  readonly pieces: readonly (Readonly<Record<string, unknown>>)[];
}

/** A request to a model of the editor; the first message holds the system prompt. */
export interface ModelRequest {
  /** The model, as `VENDOR/ID`. */
  readonly model: string;
  /** The messages, in order. */
  readonly messages: readonly ModelMessage[];
  /** The tools; may be empty. */
  readonly tools: readonly ModelTool[];
  /** The text that the editor shows when it asks the user for consent. */
  readonly justification: string;
}

/** A model of the endpoint; prices in US dollars per million tokens, null if unknown. */
export interface ModelRow {
  readonly name: string;
  readonly window: number | null;
  readonly input: number | null;
  readonly output: number | null;
  readonly tools: boolean | null;
  readonly chosen: boolean;
}

/** A tool that the model may call; `schema` is the text of a JSON schema. */
export interface ModelTool {
  readonly name: string;
  readonly description: string;
  readonly schema: string;
}

/** The parameters are empty. */
export type ModelsParams = Readonly<Record<string, never>>;

/** The models that the endpoint offers. */
export interface ModelsResult {
  readonly models: readonly ModelRow[];
}

/** Asks the editor's other language servers about code. */
export interface NavigateParams {
  /** The request of the language server protocol. */
  readonly method: "textDocument/definition" | "textDocument/references" | "textDocument/hover" | "textDocument/documentSymbol" | "textDocument/rename" | "workspace/symbol";
  /** The document, open or not, or null for `workspace/symbol`. */
  readonly uri: string | null;
  /** The line of the symbol, from 0. */
  readonly line: number;
  /** The column of the symbol in UTF-16 units. */
  readonly character: number;
  /** The column of the symbol in bytes of UTF-8. */
  readonly byte: number;
  /** The searched name, for `workspace/symbol`. */
  readonly query: string;
  /** The new name, for `textDocument/rename`. */
  readonly name: string;
}

/** The reply of one language server. */
export interface NavigateReply {
  /** The result in LSP's form for this request, or null if there is no result. */
  readonly result?: unknown;
  /** The name of the language server. */
  readonly name?: string;
  /** The unit of the columns in the result: `utf-8`, `utf-16` or `utf-32`. */
  readonly encoding?: "utf-8" | "utf-16" | "utf-32";
  /** The reason why the server refuses, such as a name that cannot be changed. */
  readonly error?: string;
}

/** The replies of the language servers, or empty if no server supports the document. */
export interface NavigateResult {
  readonly replies?: readonly NavigateReply[];
}

/** The argument of `indwell.newSession`, which may be left out. */
export interface NewSessionArguments {
  /** The id of a session whose task the new session continues. */
  readonly inherit?: string;
  /** Whether a running turn continues beside the new session; otherwise the turn is stopped. */
  readonly keep?: boolean;
}

/** A message for the user, such as a warning; the turn continues. */
export interface Notice {
  readonly type: "notice";
  readonly turn: number;
  readonly level: "error" | "info" | "warning";
  readonly message: string;
  readonly agent: string;
}

/** An event with its number; a joined event has the number of its last part. */
export interface NumberedEvent {
  readonly seq: number;
  readonly event: Event;
}

/** The argument of `indwell.open`. */
export interface OpenArguments {
  /**
   * The kind of document. `diff` shows pending changes, `base` a file without its pending changes or before a
   * turn, `request` the next request, and `transcript` a session.
   */
  readonly what: "diff" | "base" | "request" | "transcript";
  /** The file of a diff or base; a diff without `uri` covers all files. */
  readonly uri?: string | null;
  /** A turn of `session`: a `diff` shows the turn's changes, a `base` the file before it. */
  readonly turn?: number | null;
  /** The session of the changes or of the transcript (by default the current one). */
  readonly session?: string | null;
}

/** The URI of the opened document, and whether the editor shows the document. */
export interface OpenResult {
  readonly uri: string;
  readonly shown: boolean;
}

/**
 * The user's answer about a permission; `unanswered` (no answer in time) means `no`.
 *
 * The answers `beforehand` (yes, once) and `uncovered` (no) come from `run --allow-commands`. With `hunks`, only
 * the named hunks of an edit are applied.
 */
export interface PermissionAnswered {
  readonly type: "permissionAnswered";
  readonly turn: number;
  readonly id: string;
  readonly question: string;
  readonly answer: "always" | "no" | "once" | "session" | "beforehand" | "hunks" | "unanswered" | "uncovered";
  readonly hunks: readonly string[];
  readonly agent: string;
}

/** The user is asked for permission; `detail` is the exact command or diff. */
export interface PermissionAsked {
  readonly type: "permissionAsked";
  readonly turn: number;
  readonly id: string;
  readonly question: string;
  readonly title: string;
  readonly detail: string;
  readonly reason: string;
  readonly agent: string;
}

/** Asks for a permission; `detail` is the exact command, or the diff of the edit. */
export interface PermissionParams {
  /** The id of the question. */
  readonly id: string;
  /** The question on one line. */
  readonly title: string;
  /** The complete text, with characters that could hide or reorder text as code points. */
  readonly detail: string;
  /** The reason why the user is asked. */
  readonly reason: string;
  /** The rule that `session` and `always` store, or empty if they are not offered. */
  readonly rule: string;
  /** The folder in which a command would run. */
  readonly cwd: string;
  /** A description of the sandbox for commands. */
  readonly sandbox: string;
  /** A description of the access beyond the sandbox that a yes allows for this one call. */
  readonly more: string;
  /** The model's reason, which clients must show as the model's text. */
  readonly why: string;
  /** Whether the model itself asks for `more`, which clients should show prominently. */
  readonly wanted: boolean;
  /** The parts of a command that cause the question. */
  readonly risky: readonly string[];
  /** The hunks of an edit with several hunks; the user can answer for each hunk. */
  readonly hunks: readonly HunkShown[];
  /** The kind of permission. */
  readonly kind: "command" | "edit" | "read" | "other";
  /** The id of the session whose turn asks, or empty if no turn asks. */
  readonly session: string;
}

/**
 * The user's answer to a permission question; any other value counts as `no`.
 *
 * With a yes, `hunks` names the hunks that are allowed once; if left out, all hunks are allowed.
 */
export interface PermissionResult {
  readonly answer: "no" | "once" | "session" | "always";
  readonly hunks?: readonly string[] | null;
}

/** The argument of `indwell.plan`; all fields are optional. */
export interface PlanArguments {
  /** `open` shows the plan's document; `PlanParams` explains the other actions. */
  readonly action?: "open" | "approve" | "reject";
  /** The session's id; by default the current session's. */
  readonly session?: string | null;
  /** The criticism for `reject`, which becomes the next prompt. */
  readonly words?: string | null;
  /** Whether to answer only when the action is carried out. */
  readonly wait?: boolean;
}

/** The model's plan or its state has changed. */
export interface PlanChanged {
  readonly type: "planChanged";
  readonly turn: number;
  /** The state of the plan. */
  readonly state: "approved" | "done" | "none" | "proposed" | "rejected";
  /** The plan in Markdown, perhaps with the user's edits, or empty if there is no plan. */
  readonly text: string;
  /** The document in which the user may edit the plan, or empty if there is no document. */
  readonly path: string;
  readonly agent: string;
}

/** Reads a session's plan, changes its text, or decides about it. */
export interface PlanParams {
  /**
   * `approve` begins a turn that carries out the plan, in the former mode; `reject` stays in mode plan; `edit`
   * replaces the plan with `text`.
   */
  readonly action?: "show" | "approve" | "reject" | "edit";
  /** The session's id; by default the current session's. */
  readonly session?: string | null;
  /**
   * The new text for `edit`. For `approve`, the shown text, which becomes the plan; by default the text of the
   * plan's document.
   */
  readonly text?: string | null;
  /** The criticism for `reject`, which becomes the next prompt. */
  readonly words?: string | null;
}

/** The present state of the plan. */
export interface PlanResult {
  /** The state of the plan; `none` if the model has proposed no plan. */
  readonly state: "none" | "proposed" | "approved" | "rejected" | "done";
  /** The plan in Markdown, or empty if there is no plan. */
  readonly text: string;
  /** The document in which the user may edit the plan, or empty if there is no document. */
  readonly path: string;
}

/** As in LSP. */
export interface Position {
  readonly line: number;
  readonly character: number;
}

/**
 * A prompt; `session` is an id, `new`, or left out for the current session.
 *
 * `mode` applies to this turn only, and is the current mode if left out. `mentions` names files to attach:
 * `path`, `path#L3` or `path#L1-20`, relative to the first folder; `path/` is the listing of a folder. With
 * `beside`, the current session does not change.
 */
export interface PromptParams {
  readonly text: string;
  readonly session?: string | null;
  readonly mode?: "ask" | "review" | "auto" | "plan" | null;
  readonly mentions?: readonly string[];
  readonly attachments?: readonly Attachment[];
  readonly beside?: boolean;
}

/** The endpoint has processed a share of the prompt, from 0 to 1; few endpoints say so. */
export interface PromptRead {
  readonly type: "promptRead";
  readonly turn: number;
  readonly share: number;
  readonly agent: string;
}

/** The parameters are empty. */
export type ProvidersParams = Readonly<Record<string, never>>;

/**
 * The model servers and providers; `lacking` is explained in `StatusResult`.
 *
 * `editor` lists the names of the editor's own models.
 */
export interface ProvidersResult {
  readonly lacking: string;
  readonly local: readonly LocalRow[];
  readonly known: readonly KnownRow[];
  readonly editor: readonly string[];
}

/** The question was answered or withdrawn. */
export interface QuestionAnswered {
  readonly type: "questionAnswered";
  readonly turn: number;
  /** The id of the tool call that asked the question. */
  readonly id: string;
  /**
   * The chosen option, or the typed line if the question asked for a line. Any other answer is reported as
   * `Steered`, and this field is empty.
   */
  readonly answer: string;
  readonly agent: string;
}

/** The model asks the user a question. Questions about permissions have a separate event. */
export interface QuestionAsked {
  readonly type: "questionAsked";
  readonly turn: number;
  /** The id of the tool call that asks the question. */
  readonly id: string;
  /** The visible text of the question, at most 1,000 characters. */
  readonly question: string;
  /** The answers to choose from, one line each. */
  readonly options: readonly string[];
  readonly agent: string;
}

/** The queued prompts have changed; `held` is the reason why no prompt begins, or empty. */
export interface QueueChanged {
  readonly type: "queueChanged";
  readonly turn: number;
  readonly seq: number;
  readonly held: string;
  readonly waiting: readonly Queued[];
  readonly agent: string;
}

/**
 * Reads or changes the queue; `seq` is the number of the state that the client saw.
 *
 * `id` names the prompt to `remove`, `move` (to the 0-based position `to`) or `edit` (to `text`).
 */
export interface QueueParams {
  readonly action?: "list" | "remove" | "move" | "edit" | "hold" | "resume";
  readonly seq?: number | null;
  readonly id?: string | null;
  readonly to?: number | null;
  readonly text?: string | null;
}

/** The queue; `held` is the reason why no prompt begins, or empty if prompts may begin. */
export interface QueueResult {
  readonly seq: number;
  readonly held: string;
  readonly waiting: readonly QueuedResult[];
}

/** A queued prompt that is sent after the running turn. */
export interface Queued {
  readonly id: string;
  readonly title: string;
  readonly text: string;
}

/** A queued prompt; `attached` names the attachments. */
export interface QueuedResult {
  readonly id: string;
  readonly title: string;
  readonly text: string;
  readonly session: string | null;
  readonly attached: readonly string[];
}

/** As in LSP. */
export interface Range {
  readonly start: Position;
  readonly end: Position;
}

/** A title for a session; an empty title restores the original. */
export interface RenameParams {
  readonly session: string;
  readonly title: string;
}

/** The session's present title. */
export interface RenameResult {
  readonly session: string;
  readonly title: string;
}

/** The argument of `indwell.resume`; all fields are optional. */
export interface ResumeArguments {
  /** The session's id; if left out, the user is asked. */
  readonly session?: string | null;
  /** One of the user's models, to replace the session's model. */
  readonly model?: string | null;
  /** Whether to answer only when the session is open. */
  readonly wait?: boolean;
  /** Whether a failure is only an error answer, and shows no message. */
  readonly quiet?: boolean;
  /** Whether a running turn continues beside the session; otherwise the turn is stopped. */
  readonly keep?: boolean;
  /**
   * Whether the session only opens, and the current session stays the current one. No turn is stopped then, and
   * `model` is ignored.
   */
  readonly beside?: boolean;
}

/**
 * A resumed session; `draft` is the user's text that never reached the model.
 *
 * `notices` report unknown facts, such as the result of a command that a crash interrupted.
 */
export interface ResumeResult {
  readonly session: string;
  readonly turns: number;
  readonly model: string;
  readonly draft: string;
  readonly notices: readonly string[];
}

/** The argument of `indwell.rewind`. */
export interface RewindArguments {
  /** The conversation continues from the end of this turn; 0 means before the first turn. */
  readonly turn: number;
  /** The session to rewind; by default the current session. */
  readonly session?: string | null;
  /** One of the user's models, to replace the turn's model. */
  readonly model?: string | null;
  /**
   * Whether to restore the files, too. If left out, plain editors ask the user, and other editors restore no
   * files.
   */
  readonly files?: boolean | null;
  /** Whether to answer only when the session is rewound. */
  readonly wait?: boolean;
  /** Whether the current session stays the current one. */
  readonly beside?: boolean;
}

/** A turn that runs in a session other than the current session. */
export interface RunningTurn {
  readonly session: string;
  readonly turn: number;
}

/** Documents to save before a command runs. */
export interface SaveParams {
  readonly uris: readonly string[];
}

/** The documents that were saved. */
export interface SaveResult {
  readonly saved: readonly string[];
}

/** The argument of `indwell.send`; all fields are optional. */
export interface SendArguments {
  /** The chat document; by default the last opened chat. */
  readonly uri?: string | null;
  /**
   * `steer` sends the draft to the running turn, and `next` queues the draft. `auto` steers if a turn of this
   * chat is running.
   */
  readonly how?: "auto" | "steer" | "next";
  /** Whether to answer only when the draft was sent. */
  readonly wait?: boolean;
}

/** Asks for a page of a session: the last `limit` turns before the turn `before`. */
export interface SessionParams {
  readonly session?: string | null;
  readonly before?: number | null;
  readonly limit?: number;
}

/**
 * A page of a session's turns, oldest first; `more` is true if there are earlier turns.
 *
 * `todo` is the newest to-do list, or empty if the model has no list. `plan` is the newest plan; null if the
 * model has proposed no plan.
 */
export interface SessionResult {
  readonly session: string;
  readonly title: string;
  readonly at: string;
  readonly model: string;
  readonly total: number;
  readonly turns: readonly TurnRow[];
  readonly more: boolean;
  readonly notices: readonly string[];
  readonly todo: readonly TodoRow[];
  readonly plan: PlanResult | null;
}

/**
 * A session in the list; `open` is true for the current one, `notices` describe damage.
 *
 * `title` is the user's title, or the beginning of the first prompt. `task` names the task of the session and
 * the task's state, such as `t3 done`, or is empty.
 */
export interface SessionRow {
  readonly id: string;
  readonly at: string;
  readonly model: string;
  readonly title: string;
  readonly preview: string;
  readonly turns: number;
  readonly usage: UsageResult;
  readonly open: boolean;
  readonly notices: readonly string[];
  readonly task: string;
}

/**
 * Asks for a page of the session list: `limit` sessions older than `before`.
 *
 * With `query`, the list has only sessions with that text in the title or in a prompt.
 */
export interface SessionsParams {
  readonly limit?: number;
  readonly before?: string | null;
  readonly query?: string;
}

/** The sessions of the workspace, newest first; `more` is true if there are older sessions. */
export interface SessionsResult {
  readonly sessions: readonly SessionRow[];
  readonly more: boolean;
}

/** Names the model by the endpoint's name. */
export interface SetModelParams {
  readonly model: string;
}

/** The model that is used from the next turn on. */
export interface SetModelResult {
  readonly model: string;
}

/** One skill; `source` is `user`, `workspace` or `indwell`. */
export interface SkillRow {
  readonly name: string;
  readonly description: string;
  readonly source: string;
}

/** The parameters are empty. */
export type SkillsParams = Readonly<Record<string, never>>;

/** All available skills, by name; a workspace's skills only if the workspace is trusted. */
export interface SkillsResult {
  readonly skills: readonly SkillRow[];
}

/** The newest report of one checker on a document, such as a language server or a linter. */
export interface SourceDiagnostics {
  /** The displayed name of the checker. */
  readonly name: string;
  /** The reported problems; null means an empty list. */
  readonly diagnostics?: readonly Diagnostic[];
  /**
   * The version of the checked text. The field is left out if the version is unknown, or if the checker has not
   * reported on this document yet.
   */
  readonly version?: number | null;
}

/** The immediate answer of a command: the session and turn that began, or the queued id. */
export interface StartedResult {
  readonly session: string | null;
  readonly turn: number | null;
  readonly queued: string | null;
}

/**
 * Asks for the status of a session; by default of the current session.
 *
 * A session that is not open has the mode and the model of the next new session, and no title.
 */
export interface StatusParams {
  readonly session?: string | null;
}

/** The contents of a status bar and an empty panel. */
export interface StatusResult {
  /** The session's id, or null if there is no current session yet. */
  readonly session: string | null;
  /** The title of the session, or empty if the session has no title. */
  readonly title: string;
  /** The mode from the next turn on. */
  readonly mode: "ask" | "review" | "auto" | "plan";
  /** The modes that may be chosen here. */
  readonly modes: readonly ("ask" | "review" | "auto" | "plan")[];
  /** The chosen model, or empty if no model is chosen. */
  readonly model: string;
  /** The reason why no model can be called, or empty if a model can be called. */
  readonly lacking: string;
  /** Whether all folders are trusted with their present contents. */
  readonly trusted: boolean;
  /**
   * The number of the running turn, or 0 while the session is being opened, and null after the turn's last
   * event.
   */
  readonly running: number | null;
  /** The server's version. */
  readonly version: string;
  /** Whether the model accepts pictures, or null if unknown. */
  readonly pictures: boolean | null;
  /** The session's cost in US dollars, or null if there is no session or a price is unknown. */
  readonly cost: number | null;
  /** The turns that run in other sessions, oldest first. */
  readonly beside: readonly RunningTurn[];
  /** The model's reasoning effort, or empty if the model decides. */
  readonly effort: "" | "none" | "minimal" | "low" | "medium" | "high" | "xhigh" | "max";
  /** The efforts to choose from, or empty if the model is not known to support reasoning. */
  readonly efforts: readonly ("" | "none" | "minimal" | "low" | "medium" | "high" | "xhigh" | "max")[];
  /**
   * A phrase that counts the folders' files that have no effect until the user decides, or empty if there are no
   * such files.
   */
  readonly undecided: string;
  /**
   * The project's MCP servers that are not used, because the user was asked about the servers and has not
   * decided.
   */
  readonly unapproved: readonly string[];
  /**
   * `scripted` in a made-up project with the scripted model; `connected` in that project when the user's own
   * settings name a model; empty outside the project.
   */
  readonly demo: "" | "scripted" | "connected";
}

/** A message for the running turn; `session` is an id, or left out for any session. */
export interface SteerParams {
  readonly text: string;
  readonly session?: string | null;
}

/**
 * The turn that receives the message with its next model call.
 *
 * `is_choice` is true if the message only chose an option of a question, or is the line that the question asked
 * for. `is_answered` is true if the message was a command that needs no turn, such as `/tasks`: the turn's
 * events contain the answer, and the model gets no message.
 */
export interface SteerResult {
  readonly session: string;
  readonly turn: number;
  readonly delivered: boolean;
  readonly is_choice: boolean;
  readonly is_answered: boolean;
}

/** The user has sent a message to the running turn. */
export interface Steered {
  readonly type: "steered";
  readonly turn: number;
  /** The message as typed. */
  readonly text: string;
  /**
   * Whether the next request contains the message. A message that did not reach the model is in the draft of
   * `TurnFinished`.
   */
  readonly delivered: boolean;
  readonly agent: string;
}

/** One step of a connection test, with advice. */
export interface StepRow {
  readonly name: string;
  readonly state: "ok" | "warn" | "fail" | "skipped";
  readonly sentence: string;
  readonly fix: string;
}

/** The argument of `indwell.fix` and of similar commands; all fields are optional. */
export interface TaskArguments {
  /** The document; the focused document if left out. */
  readonly uri?: string | null;
  /** The document's version when the action was offered. */
  readonly version?: number | null;
  /** The range of the task; the selection if left out. */
  readonly range?: Range | null;
  /** The problems in the range. */
  readonly diagnostics?: readonly Diagnostic[];
  /** The user's text, for `refactor`, `edit` and `ask`. */
  readonly text?: string;
  /** Whether to answer only when the turn has ended, with its result. */
  readonly wait?: boolean;
}

/** A task of the workspace, without its text. */
export interface TaskRow {
  /** The name of the task, such as `t3`. */
  readonly id: string;
  /** One line for people. */
  readonly title: string;
  /** How far the task is; `waiting`: the task starts as soon as it can. */
  readonly state: "done" | "failed" | "open" | "running" | "stopped" | "waiting";
  /** The tasks that must be done before this task. */
  readonly after: readonly string[];
  /** The tasks of `after` that are not done yet. */
  readonly waitsFor: readonly string[];
  /** The session that works on the task, or empty if the task has not run. */
  readonly session: string;
  /** How the task's session ended, in words for the user, or empty if the task is done. */
  readonly ending: string;
}

/** The argument of `indwell.tasks`, with the fields of `indwell/tasks`. */
export interface TasksArguments {
  /** The text after `/tasks` in a prompt; empty to list the tasks. */
  readonly words?: string;
  /** Whether to answer when the command has been carried out, with its result. */
  readonly wait?: boolean;
}

/** The tasks of the workspace have changed; the event has all tasks. */
export interface TasksChanged {
  readonly type: "tasksChanged";
  readonly turn: number;
  readonly tasks: readonly TaskRow[];
  readonly agent: string;
}

/** Asks for the tasks of the workspace, or changes them. */
export interface TasksParams {
  /** The text after `/tasks` in a prompt, such as `run t1 t2`; empty to list the tasks. */
  readonly words?: string;
}

/** The tasks of the workspace after the command. */
export interface TasksResult {
  /** The result of the command, in words for the user. */
  readonly answer: string;
  /** All tasks, each as in `TasksChanged`. */
  readonly tasks: readonly (Readonly<Record<string, unknown>>)[];
}

/** More text of the answer was received; `restart` removes this round's earlier text. */
export interface TextAdded {
  readonly type: "text";
  readonly turn: number;
  readonly text: string;
  readonly restart: boolean;
  readonly agent: string;
}

/** More text of the model's reasoning was received. */
export interface ThinkingAdded {
  readonly type: "thinking";
  readonly turn: number;
  readonly text: string;
  readonly agent: string;
}

/** The model has changed the to-do list; the event contains the whole list. */
export interface TodoChanged {
  readonly type: "todoChanged";
  readonly turn: number;
  readonly items: readonly TodoItem[];
  readonly agent: string;
}

/** One item of the to-do list, with its state. */
export interface TodoItem {
  /** The item, on one line. */
  readonly text: string;
  /** The item's progress. */
  readonly state: "doing" | "done" | "open";
  /** The 1-based numbers of the items that must be done before this item. */
  readonly after: readonly number[];
}

/** A step of the model's to-do list; `after` has the numbers of steps to do before it. */
export interface TodoRow {
  readonly text: string;
  readonly state: "open" | "doing" | "done";
  readonly after: readonly number[];
}

/** A tool call ended: `figure` is a count (`+3 −1`), `message` an error or refusal. */
export interface ToolFinished {
  readonly type: "toolFinished";
  readonly turn: number;
  readonly id: string;
  readonly name: string;
  readonly target: string;
  readonly isError: boolean;
  readonly figure: string;
  /** How long the call took; null only in events of an old log. */
  readonly seconds: number | null;
  readonly message: string;
  /**
   * The result for the model; set only when a session is read from disk. The log stores the results of one reply
   * together, so the result of a call may be missing.
   */
  readonly result: string | null;
  readonly agent: string;
}

/** A running command has written output. */
export interface ToolOutput {
  readonly type: "toolOutput";
  readonly turn: number;
  readonly id: string;
  readonly text: string;
  readonly agent: string;
}

/**
 * A tool call begins: `name` is the tool, and `target` is the tool's file or text.
 *
 * `arguments` is the JSON text that the model wrote. The field is set only when a session is read from disk.
 */
export interface ToolStarted {
  readonly type: "toolStarted";
  readonly turn: number;
  readonly id: string;
  readonly name: string;
  readonly target: string;
  readonly arguments: string;
  readonly agent: string;
}

/** The argument of `indwell.trust`; `wait` delays the answer until the user has decided. */
export interface TrustArguments {
  readonly wait?: boolean;
}

/** A turn has ended. */
export interface TurnFinished {
  readonly type: "turnFinished";
  readonly turn: number;
  /**
   * How the turn ended: done, cancelled, failed, or stopped by a limit of rounds, by repeated calls or by a
   * budget.
   */
  readonly ending: "budget" | "cancelled" | "done" | "failed" | "interrupted" | "limit" | "repeated";
  /**
   * A message for the user. A turn that is done has a message only for text that is not in the answer, such as
   * the result of `/compact`.
   */
  readonly message: string;
  /** The model's last text. */
  readonly answer: string;
  /** The user's text that never reached the model, including messages to the running turn. */
  readonly draft: string;
  readonly rounds: number;
  /** The tokens of all model calls of the turn; `reported` is false if a number is an estimate. */
  readonly usage: Usage;
  readonly cost: number | null;
  /** How long the turn took; null only in events of an old log. */
  readonly seconds: number | null;
  readonly changes: readonly FileChanged[];
  /** Whether the endpoint could not be reached, so that the same prompt may succeed later. */
  readonly retryable: boolean;
  /** Whether no request can hold the conversation; a new session continues the task. */
  readonly outgrown: boolean;
  /**
   * What the user can change so that the same prompt succeeds: the key or the model, or empty if neither helps.
   */
  readonly remedy: "" | "key" | "model";
  /** Numbers about the turn, under the names of `context.request.cache_health` (OpenTelemetry). */
  readonly figures: Readonly<Record<string, unknown>>;
  /** The number of changes that await review now, of all turns and sessions. */
  readonly toReview: number;
  /**
   * How the changes are verified, that no check verified the changes, or how many new errors remain, or empty if
   * the turn changed no file.
   */
  readonly verified: string;
  readonly agent: string;
}

/**
 * The end of a turn; `draft` is the user's text that never reached the model.
 *
 * A prompt that was removed from the queue ends as `cancelled`, with turn 0 and no session. `verified` says how
 * the changes are verified, or empty if the turn changed no file.
 */
export interface TurnResult {
  readonly session: string | null;
  readonly turn: number;
  readonly ending: "done" | "cancelled" | "failed" | "limit" | "repeated" | "budget" | "interrupted";
  readonly message: string;
  readonly answer: string;
  readonly draft: string;
  readonly rounds: number;
  readonly usage: UsageResult;
  readonly changes: readonly FileResult[];
  readonly verified: string;
}

/** One turn, as its events. */
export interface TurnRow {
  /** The number of the turn. */
  readonly turn: number;
  /** The time when the turn began. */
  readonly at: string;
  /** Whether a rewind removed the turn from the conversation. */
  readonly left: boolean;
  /** The number of characters left out of long texts. */
  readonly cut: number;
  /**
   * The events from `turnStarted` to `turnFinished`. The last event is missing while the turn runs, or if the
   * process was killed. The events of one call are together.
   */
  readonly events: readonly Event[];
}

/**
 * A turn has begun with the user's prompt; `attached` names the attachments.
 *
 * `mode` is null only in events read back from an old log.
 */
export interface TurnStarted {
  readonly type: "turnStarted";
  readonly turn: number;
  readonly title: string;
  readonly words: string;
  readonly model: string;
  readonly attached: readonly string[];
  readonly mode: "ask" | "auto" | "plan" | "review" | null;
  readonly agent: string;
}

/** The argument of `indwell.undoVerdict`; with `wait`, the answer comes at the end. */
export interface UndoVerdictArguments {
  readonly wait?: boolean;
}

/** The result of undoing the newest accept or reject. */
export interface UndoVerdictResult {
  /** What was undone, `accept` or `reject`, or null if there was nothing to undo. */
  readonly verdict: "accept" | "reject" | null;
  /** Ids of the changes that await review again. */
  readonly hunks: readonly string[];
  /** Files in which nothing could be undone, with the reasons. */
  readonly kept: readonly KeptRow[];
  /** The number of earlier accepts and rejects that can be undone. */
  readonly left: number;
  /** The result in one sentence. */
  readonly message: string;
  /** Whether the command is still at work; if so, a message later reports the end. */
  readonly running: boolean;
}

/** Tokens of one or several calls. */
export interface Usage {
  /** All prompt tokens, including cached ones. */
  readonly input: number;
  /** Tokens of `input` that were read from a cache. */
  readonly cached: number;
  /** Tokens of `input` that were written to a cache. */
  readonly cache_write: number;
  /** Tokens of the reply, including reasoning. */
  readonly output: number;
  /** Whether the endpoint reported the numbers; otherwise they are estimates. */
  readonly reported: boolean;
  /** Tokens of `output` that were reasoning; an estimate if the endpoint did not report them. */
  readonly thinking: number;
  /** Tokens of `cache_write` that the cache keeps for an hour. */
  readonly cache_hour: number;
}

/** The tokens and cost of one model call; `total` and `total_cost` cover the turn so far. */
export interface UsageReported {
  readonly type: "usageReported";
  readonly turn: number;
  readonly round: number;
  readonly usage: Usage;
  readonly cost: number | null;
  readonly total: Usage;
  readonly totalCost: number | null;
  readonly agent: string;
}

/** The tokens of a turn or session; `cost` in US dollars, null if the price is unknown. */
export interface UsageResult {
  readonly input: number;
  readonly cached: number;
  readonly output: number;
  readonly cost: number | null;
}

/**
 * The argument of `indwell.accept` and `indwell.reject`: selects pending changes.
 *
 * Each field narrows the selection; at least one is needed. Ids that are no longer pending are ignored.
 */
export interface VerdictArguments {
  /** Ids of changes. */
  readonly hunks?: readonly string[];
  /** Changes of this document. */
  readonly uri?: string | null;
  /** Changes of this turn, in the current session if `session` is left out. */
  readonly turn?: number | null;
  /** Changes of this session. */
  readonly session?: string | null;
  /** Whether to select all changes. */
  readonly all?: boolean;
  /** Whether to answer only when the changes are accepted or rejected. */
  readonly wait?: boolean;
}

/** The result of accepting or rejecting changes. */
export interface VerdictResult {
  /** `accept` or `reject`. */
  readonly verdict: "accept" | "reject";
  /** Ids of the changes that were accepted or rejected. */
  readonly hunks: readonly string[];
  /** Changes that stay pending, with the reasons. */
  readonly kept: readonly KeptRow[];
  /** Ids from the arguments that are no longer pending. */
  readonly gone: readonly string[];
  /** The result in one sentence. */
  readonly message: string;
  /** Whether the command is still at work; if so, a message later reports the end. */
  readonly running: boolean;
}

/**
 * A part of the model's window, with its share of the window from 0 to 1.
 *
 * `system` includes reminders, `instructions` also skills and memory. `words` are earlier words of the user and
 * the plan, which compaction never cuts. `older` and `newest` are exchanges; `reply` is the room for the reply.
 * `limit` is the most tokens of the task card (`card`), null for other parts.
 */
export interface WindowPartRow {
  readonly name: "system" | "tools" | "instructions" | "card" | "words" | "older" | "newest" | "reply" | "free";
  readonly tokens: number;
  readonly share: number;
  readonly limit: number | null;
}

/** The version of the protocol; the server announces its own. */
export const PROTOCOL: number = 1;

/** Requests that the server answers. */
export interface ServerRequests {
  readonly "indwell/prompt": { readonly params: PromptParams; readonly result: TurnResult };
  readonly "indwell/steer": { readonly params: SteerParams; readonly result: SteerResult };
  readonly "indwell/queue": { readonly params: QueueParams; readonly result: QueueResult };
  readonly "indwell/sessions": { readonly params: SessionsParams; readonly result: SessionsResult };
  readonly "indwell/session": { readonly params: SessionParams; readonly result: SessionResult };
  readonly "indwell/rename": { readonly params: RenameParams; readonly result: RenameResult };
  readonly "indwell/delete": { readonly params: DeleteParams; readonly result: DeleteResult };
  readonly "indwell/status": { readonly params: StatusParams; readonly result: StatusResult };
  readonly "indwell/demo": { readonly params: DemoParams; readonly result: DemoResult };
  readonly "indwell/providers": { readonly params: ProvidersParams; readonly result: ProvidersResult };
  readonly "indwell/models": { readonly params: ModelsParams; readonly result: ModelsResult };
  readonly "indwell/setModel": { readonly params: SetModelParams; readonly result: SetModelResult };
  readonly "indwell/skills": { readonly params: SkillsParams; readonly result: SkillsResult };
  readonly "indwell/mcp": { readonly params: McpParams; readonly result: McpResult };
  readonly "indwell/login": { readonly params: LoginParams; readonly result: LoginResult };
  readonly "indwell/events": { readonly params: EventsParams; readonly result: EventsResult };
  readonly "indwell/detach": { readonly params: DetachParams; readonly result: DetachResult };
  readonly "indwell/context": { readonly params: ContextParams; readonly result: ContextResult };
  readonly "indwell/plan": { readonly params: PlanParams; readonly result: PlanResult };
  readonly "indwell/tasks": { readonly params: TasksParams; readonly result: TasksResult };
  readonly "indwell/commands": { readonly params: CommandsParams; readonly result: CommandsResult };
  readonly "indwell/apply": { readonly params: ApplyParams; readonly result: ApplyResult };
  readonly "indwell/changes": { readonly params: ChangesParams; readonly result: ChangesResult };
}

/** What the server is told. */
export interface ServerNotifications {
  readonly "indwell/didChangeSelection": { readonly params: DidChangeSelectionParams };
  readonly "indwell/didFocus": { readonly params: DidFocusParams };
  readonly "indwell/didChangeDiagnostics": { readonly params: DidChangeDiagnosticsParams };
  readonly "indwell/didChangeEditorModels": { readonly params: DidChangeEditorModelsParams };
  readonly "indwell/modelPieces": { readonly params: ModelPiecesParams };
}

/** Requests that the editor answers. */
export interface EditorRequests {
  readonly "indwell/permission": { readonly params: PermissionParams; readonly result: PermissionResult };
  readonly "indwell/ask": { readonly params: AskParams; readonly result: AskResult };
  readonly "indwell/firstRun": { readonly params: FirstRunParams; readonly result: FirstRunResult };
  readonly "indwell/save": { readonly params: SaveParams; readonly result: SaveResult };
  readonly "indwell/diagnostics": { readonly params: DiagnosticsParams; readonly result: DiagnosticsResult };
  readonly "indwell/navigate": { readonly params: NavigateParams; readonly result: NavigateResult };
  readonly "indwell/editorModels": { readonly params: EditorModelsParams; readonly result: EditorModelsResult };
  readonly "indwell/complete": { readonly params: CompleteParams; readonly result: CompleteResult };
}

/** What the editor is told. */
export interface EditorNotifications {
  readonly "indwell/event": { readonly params: EventParams };
}

/** Every method, with who receives it and whether it is answered. */
export const METHODS = {
  "indwell/didChangeSelection": { to: "server", kind: "notification" },
  "indwell/didFocus": { to: "server", kind: "notification" },
  "indwell/didChangeDiagnostics": { to: "server", kind: "notification" },
  "indwell/prompt": { to: "server", kind: "request" },
  "indwell/steer": { to: "server", kind: "request" },
  "indwell/queue": { to: "server", kind: "request" },
  "indwell/sessions": { to: "server", kind: "request" },
  "indwell/session": { to: "server", kind: "request" },
  "indwell/rename": { to: "server", kind: "request" },
  "indwell/delete": { to: "server", kind: "request" },
  "indwell/status": { to: "server", kind: "request" },
  "indwell/demo": { to: "server", kind: "request" },
  "indwell/providers": { to: "server", kind: "request" },
  "indwell/models": { to: "server", kind: "request" },
  "indwell/setModel": { to: "server", kind: "request" },
  "indwell/skills": { to: "server", kind: "request" },
  "indwell/mcp": { to: "server", kind: "request" },
  "indwell/login": { to: "server", kind: "request" },
  "indwell/events": { to: "server", kind: "request" },
  "indwell/detach": { to: "server", kind: "request" },
  "indwell/context": { to: "server", kind: "request" },
  "indwell/plan": { to: "server", kind: "request" },
  "indwell/tasks": { to: "server", kind: "request" },
  "indwell/commands": { to: "server", kind: "request" },
  "indwell/apply": { to: "server", kind: "request" },
  "indwell/changes": { to: "server", kind: "request" },
  "indwell/didChangeEditorModels": { to: "server", kind: "notification" },
  "indwell/modelPieces": { to: "server", kind: "notification" },
  "indwell/event": { to: "editor", kind: "notification" },
  "indwell/permission": { to: "editor", kind: "request" },
  "indwell/ask": { to: "editor", kind: "request" },
  "indwell/firstRun": { to: "editor", kind: "request" },
  "indwell/save": { to: "editor", kind: "request" },
  "indwell/diagnostics": { to: "editor", kind: "request" },
  "indwell/navigate": { to: "editor", kind: "request" },
  "indwell/editorModels": { to: "editor", kind: "request" },
  "indwell/complete": { to: "editor", kind: "request" },
} as const;

/** Commands: the one argument of each (null: it has none), and its answer. */
export interface Commands {
  readonly "indwell.fix": { readonly argument: TaskArguments; readonly result: StartedResult | TurnResult | null };
  readonly "indwell.fixAll": { readonly argument: TaskArguments; readonly result: StartedResult | TurnResult | null };
  readonly "indwell.explain": { readonly argument: TaskArguments; readonly result: StartedResult | TurnResult | null };
  readonly "indwell.document": { readonly argument: TaskArguments; readonly result: StartedResult | TurnResult | null };
  readonly "indwell.test": { readonly argument: TaskArguments; readonly result: StartedResult | TurnResult | null };
  readonly "indwell.refactor": { readonly argument: TaskArguments; readonly result: StartedResult | TurnResult | null };
  readonly "indwell.ask": { readonly argument: TaskArguments; readonly result: StartedResult | TurnResult | null };
  readonly "indwell.edit": { readonly argument: TaskArguments; readonly result: StartedResult | TurnResult | null };
  readonly "indwell.accept": { readonly argument: VerdictArguments; readonly result: VerdictResult | null };
  readonly "indwell.reject": { readonly argument: VerdictArguments; readonly result: VerdictResult | null };
  readonly "indwell.undoVerdict": { readonly argument: UndoVerdictArguments; readonly result: UndoVerdictResult | null };
  readonly "indwell.cancel": { readonly argument: CancelArguments; readonly result: boolean };
  readonly "indwell.newSession": { readonly argument: NewSessionArguments; readonly result: null };
  readonly "indwell.compact": { readonly argument: null; readonly result: StartedResult | null };
  readonly "indwell.continue": { readonly argument: null; readonly result: StartedResult | null };
  readonly "indwell.commands": { readonly argument: null; readonly result: null };
  readonly "indwell.explainRequest": { readonly argument: null; readonly result: ContextResult };
  readonly "indwell.open": { readonly argument: OpenArguments; readonly result: OpenResult | null };
  readonly "indwell.showLog": { readonly argument: null; readonly result: OpenResult | null };
  readonly "indwell.resume": { readonly argument: ResumeArguments; readonly result: ResumeResult | null };
  readonly "indwell.fork": { readonly argument: ForkArguments; readonly result: ResumeResult | null };
  readonly "indwell.rewind": { readonly argument: RewindArguments; readonly result: ResumeResult | null };
  readonly "indwell.plan": { readonly argument: PlanArguments; readonly result: PlanResult | null };
  readonly "indwell.effort": { readonly argument: EffortArguments; readonly result: null };
  readonly "indwell.mode": { readonly argument: ModeArguments; readonly result: null };
  readonly "indwell.trust": { readonly argument: TrustArguments; readonly result: boolean | null };
  readonly "indwell.chat": { readonly argument: ChatArguments; readonly result: ChatResult | null };
  readonly "indwell.send": { readonly argument: SendArguments; readonly result: StartedResult | TurnResult | null | SteerResult };
  readonly "indwell.memory": { readonly argument: MemoryArguments; readonly result: MemoryResult | null };
  readonly "indwell.mcp": { readonly argument: McpArguments; readonly result: McpResult | null };
  readonly "indwell.tasks": { readonly argument: TasksArguments; readonly result: TasksResult | null };
  readonly "indwell.commitMessage": { readonly argument: CommitMessageArguments; readonly result: CommitMessageResult | null };
}

/** Every command of the server. */
export const COMMANDS = [
  "indwell.fix", "indwell.fixAll", "indwell.explain", "indwell.document", "indwell.test",
  "indwell.refactor", "indwell.ask", "indwell.edit", "indwell.accept", "indwell.reject",
  "indwell.undoVerdict", "indwell.cancel", "indwell.newSession", "indwell.compact",
  "indwell.continue", "indwell.commands", "indwell.explainRequest", "indwell.open",
  "indwell.showLog", "indwell.resume", "indwell.fork", "indwell.rewind", "indwell.plan",
  "indwell.effort", "indwell.mode", "indwell.trust", "indwell.chat", "indwell.send",
  "indwell.memory", "indwell.mcp", "indwell.tasks", "indwell.commitMessage",
] as const satisfies readonly (keyof Commands)[];

/** The commands that begin a task about a range or a document. */
export const TASK_COMMANDS = [
  "indwell.fix", "indwell.fixAll", "indwell.explain", "indwell.document", "indwell.test",
  "indwell.refactor", "indwell.ask", "indwell.edit",
] as const satisfies readonly (keyof Commands)[];
