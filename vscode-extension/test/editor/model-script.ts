/** The replies of the tests' model, chosen by the first word of the prompt. */

/** A part of a reply. */
export type Part =
  /** Text, in pieces of `piece` characters, `paceMs` apart. */
  | {
      readonly kind: "say";
      readonly text: string;
      readonly piece?: number;
      readonly paceMs?: number;
    }
  | { readonly kind: "think"; readonly text: string }
  | {
      readonly kind: "call";
      readonly name: string;
      readonly arguments: Readonly<Record<string, unknown>>;
    }
  /** Pauses until the promise resolves; without a promise, until the client disconnects. */
  | { readonly kind: "wait"; readonly until?: Promise<unknown> }
  /** An HTTP error instead of the reply. */
  | { readonly kind: "refuse"; readonly status: number; readonly message: string };

/** The whole reply to a request. */
export type Reply = readonly Part[];

/** Returns a turn's reply by the number of the round, from 0, and the rest of the prompt's first line. */
export type Script = (round: number, rest: string) => Reply;

export const say = (
  text: string,
  how: { readonly piece?: number; readonly paceMs?: number } = {},
): Part => ({ kind: "say", text, ...how });
export const think = (text: string): Part => ({ kind: "think", text });
export const call = (name: string, given: Readonly<Record<string, unknown>>): Part => ({
  kind: "call",
  name,
  arguments: given,
});
export const wait = (until?: Promise<unknown>): Part =>
  until === undefined ? { kind: "wait" } : { kind: "wait", until };
export const refuse = (status: number, message: string): Part => ({
  kind: "refuse",
  status,
  message,
});

/** Returns a script with these replies in order, and "Done." after them. */
export const inOrder =
  (...replies: readonly Reply[]): Script =>
  (round) =>
    replies[round] ?? [say("Done.")];

/** The scripts that each prompt can select by its first word. */
export const WORDS: Readonly<Record<string, Script>> = {
  say: (_round, rest) => [say(rest)],
  think: (_round, rest) => [think(rest), say("That is settled.")],
  read: (round, rest) =>
    inOrder([call("read_file", { path: rest })], [say(`${rest} is read.`)])(round, rest),
  search: (round, rest) =>
    inOrder([call("grep", { pattern: rest })], [say("That is where it stands.")])(round, rest),
  navigate: (round, rest) =>
    inOrder([call("navigate", JSON.parse(rest))], [say("That is looked up.")])(round, rest),
  run: (round, rest) =>
    inOrder([call("bash", { command: rest })], [say("The command has ended.")])(round, rest),
  ask: (round, rest) =>
    inOrder(
      [call("bash", { command: rest, unsandboxed: true, why: "it needs the whole machine" })],
      [say("Understood.")],
    )(round, rest),
  write: (round, rest) =>
    inOrder([call("write_file", { path: rest, content: "new\n" })], [say(`${rest} is written.`)])(
      round,
      rest,
    ),
  stream: (_round, rest) => [say("word ".repeat(Number(rest) || 100), { piece: 5, paceMs: 10 })],
  hang: (_round, rest) => [say(`${rest} …`), wait()],
  fail: (_round, rest) => [refuse(Number(rest) || 500, "the model is out of order")],
};

/** The part of a request that selects a script. */
export interface Asked {
  readonly messages: readonly { readonly role: string; readonly content: unknown }[];
}

/** Returns the reply to a request. `scripts` have priority over `WORDS`; `otherwise` answers prompts without a known first word. */
export function replyTo(
  asked: Asked,
  scripts: ReadonlyMap<string, Script>,
  otherwise: Script,
): Reply {
  let round = 0;
  for (const message of [...asked.messages].reverse()) {
    if (message.role === "assistant") round += 1;
    if (message.role !== "user") continue;
    for (const line of linesOf(message.content)) {
      const [first = "", ...rest] = line.trim().split(" ");
      const script = scripts.get(first) ?? WORDS[first];
      if (script !== undefined) return script(round, rest.join(" "));
    }
  }
  return otherwise(roundsSinceUser(asked), "");
}

function roundsSinceUser(asked: Asked): number {
  const from = asked.messages.findLastIndex((message) => message.role === "user");
  return asked.messages.slice(from).filter((message) => message.role === "assistant").length;
}

/** Returns the lines that may begin with the user's text: a task of the server puts its subject and a colon before it. */
function linesOf(content: unknown): readonly string[] {
  const text = textOf(content).replaceAll(/<system-reminder>[\s\S]*?<\/system-reminder>/g, "");
  return text.split("\n").flatMap((line) => [line, line.slice(line.indexOf(": ") + 1)]);
}

function textOf(content: unknown): string {
  if (typeof content === "string") return content;
  if (!Array.isArray(content)) return "";
  const parts: readonly unknown[] = content;
  return parts
    .map((part) =>
      typeof part === "object" && part !== null && "text" in part ? String(part.text) : "",
    )
    .join("\n");
}
