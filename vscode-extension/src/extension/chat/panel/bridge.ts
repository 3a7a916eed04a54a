/**
 * The only entry for messages of the webview: each is checked against the schema, with limits for
 * each field, then passed to the handler of its type. Other messages are dropped.
 */
import * as v from "valibot";
import { LONGEST_COLOURED } from "../../../shared/coloured.ts";
import { MOST_WORDS, type ToHost } from "../../../shared/messages.ts";

/** The maximum number of characters of a pasted text. */
const MOST_PASTED = 100_000;
/** The maximum number of characters of a picture: the base64 of 5 MB. */
const MOST_PICTURE = 7_000_000;

const text = (most: number) => v.pipe(v.string(), v.maxLength(most));
const count = v.pipe(v.number(), v.safeInteger(), v.minValue(0));
const id = text(400);
const words = text(MOST_WORDS);
const path = text(4096);
const list = <Item extends v.GenericSchema>(item: Item, most: number) =>
  v.pipe(v.array(item), v.maxLength(most), v.readonly());
const tagged = <Tag extends string, Fields extends v.ObjectEntries>(tag: Tag, fields: Fields) =>
  v.strictObject({ type: v.literal(tag), ...fields });

const COMMANDS = [
  "new",
  "compact",
  "continue",
  "restart",
  "showLog",
  "review",
  "acceptAll",
  "undoVerdict",
  "rejectAll",
  "export",
  "openSettings",
  "manageKeys",
  "mcp",
  "explainRequest",
  "trust",
  "connect",
  "useEditorModels",
  "demo",
  "openFolder",
  "chooseModel",
] as const;

const SCHEMA = v.variant("type", [
  tagged("ready", { at: v.exactOptional(count) }),
  tagged("send", { text: words, how: v.picklist(["auto", "steer", "next", "alone"]) }),
  tagged("stop", {}),
  tagged("typed", { text: words, at: v.exactOptional(count) }),
  tagged("answer", {
    nonce: id,
    answer: v.picklist(["no", "once", "session", "always"]),
    hunks: v.nullable(list(id, 10_000)),
  }),
  tagged("openQuestion", { nonce: id }),
  tagged("said", { nonce: id, text: v.nullable(words) }),
  tagged("chosen", { nonce: id, option: count }),
  tagged("find", { id: count, what: v.picklist(["@", "/"]), query: text(400) }),
  tagged("attachMention", { value: path, label: text(1000) }),
  tagged("attachImage", {
    label: text(1000),
    mime: v.pipe(v.string(), v.regex(/^image\/(?:png|jpeg|gif|webp)$/)),
    data: v.pipe(text(MOST_PICTURE), v.regex(/^[A-Za-z0-9+/]+={0,2}$/)),
  }),
  tagged("attachText", { label: text(1000), text: text(MOST_PASTED) }),
  tagged("attachUris", { uris: list(path, 100) }),
  tagged("pickContext", {}),
  tagged("unattach", { id: path }),
  tagged("mode", { mode: text(40) }),
  tagged("model", { model: text(400) }),
  tagged("effort", { effort: text(40) }),
  tagged("command", { command: v.picklist(COMMANDS) }),
  tagged("verdict", { verdict: v.picklist(["accept", "reject"]), hunks: list(id, 100_000) }),
  tagged("openDiff", { path: v.nullable(path), turn: v.nullable(count) }),
  tagged("openFile", { target: path }),
  tagged("openLink", { href: path }),
  tagged("openTool", { id, turn: count }),
  tagged("copy", { text: words }),
  tagged("colour", {
    id,
    code: text(LONGEST_COLOURED),
    language: text(100),
    theme: text(400),
  }),
  tagged("insertCode", { text: words }),
  tagged("applyCode", { text: words, target: v.nullable(path) }),
  tagged("queue", {
    action: v.picklist(["remove", "move", "edit", "hold", "resume"]),
    id: v.nullable(id),
    to: v.nullable(count),
    text: v.nullable(words),
  }),
  tagged("older", {}),
  tagged("rewind", { turn: count, files: v.nullable(v.boolean()) }),
  tagged("fork", { turn: count }),
  tagged("forkSession", { session: id }),
  tagged("resend", { turn: count, text: words }),
  tagged("plan", {
    action: v.picklist(["approve", "reject", "open"]),
    text: v.nullable(words),
    words: v.nullable(words),
  }),
  tagged("commands", { stop: v.nullable(id) }),
  tagged("retry", {}),
  tagged("sessions", { query: text(1000), more: v.boolean() }),
  tagged("closeSessions", {}),
  tagged("openSession", { session: id }),
  tagged("openInEditor", { session: id }),
  tagged("focused", {}),
  tagged("renameSession", { session: id, title: text(1000) }),
  tagged("deleteSession", { session: id }),
  tagged("exportSession", { session: id }),
  tagged("mcp", { action: v.picklist(["open", "close", "cancel"]) }),
  tagged("mcpServer", {
    action: v.picklist(["approve", "restart", "remove", "login", "log"]),
    name: text(400),
  }),
  tagged("mcpAdd", {
    form: v.strictObject({
      name: text(400),
      kind: v.picklist(["program", "address"]),
      line: text(10_000),
      url: path,
      variables: text(10_000),
      hosts: text(10_000),
      header: text(400),
      headerVariable: text(400),
    }),
  }),
  tagged("firstRun", { step: v.picklist(["look", "refresh", "cancel"]) }),
  tagged("login", {
    provider: text(400),
    key: v.nullable(text(10_000)),
    url: v.nullable(text(4096)),
    model: v.nullable(text(400)),
  }),
  tagged("closeBanner", {}),
]);

/** Returns the message, or one line about its fault, without the message's contents. */
export function checked(raw: unknown): { readonly message: ToHost } | { readonly wrong: string } {
  const result = v.safeParse(SCHEMA, raw, { abortEarly: true });
  if (result.success) return { message: result.output satisfies ToHost };
  const [issue] = result.issues;
  // The sender chooses the name of an unknown field, so the line omits this name.
  const path = issue.expected === "never" ? issue.path?.slice(0, -1) : issue.path;
  const where = path?.map((item) => String(item.key)).join(".") || "the whole";
  return { wrong: `${where}: ${issue.type}` };
}

/** Checks the type in both directions, so that a field that only one side has does not compile. */
type Checked = v.InferOutput<typeof SCHEMA>;
type Same = [ToHost] extends [Checked] ? ([Checked] extends [ToHost] ? true : never) : never;
true satisfies Same;

/** One handler for each message. */
export type Handlers = {
  readonly [Type in ToHost["type"]]: (
    message: Extract<ToHost, { readonly type: Type }>,
  ) => void | Promise<void>;
};

/** The handlers of some messages. */
export type HandlersOf<Type extends ToHost["type"]> = Pick<Handlers, Type>;

interface BridgeReport {
  /** Logs a dropped message without its contents. */
  dropped(why: string): void;
  /** Called when a handler failed; informs the user. */
  failed(error: unknown, message: ToHost): void;
}

export class Bridge {
  readonly #handlers: Handlers;
  readonly #report: BridgeReport;

  constructor(handlers: Handlers, report: BridgeReport) {
    this.#handlers = handlers;
    this.#report = report;
  }

  /** Handles an untrusted message of the webview. Never rejects. */
  async take(raw: unknown): Promise<void> {
    const result = checked(raw);
    if ("wrong" in result) this.#report.dropped(result.wrong);
    else await this.perform(result.message);
  }

  /** Handles a message of the extension's own commands. Never rejects. */
  async perform(message: ToHost): Promise<void> {
    try {
      await this.#call(message);
    } catch (error) {
      this.#report.failed(error, message);
    }
  }

  #call<Type extends ToHost["type"]>(
    message: Extract<ToHost, { readonly type: Type }>,
  ): void | Promise<void> {
    const handle: (message: Extract<ToHost, { readonly type: Type }>) => void | Promise<void> =
      this.#handlers[message.type as Type];
    return handle(message);
  }
}
