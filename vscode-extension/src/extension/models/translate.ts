/** Requests and replies of the editor's language models, in the server's form and in VS Code's. Pure. */
import type * as vscode from "vscode";
import type { CompleteResult, ModelMessage, ModelRequest } from "../../protocol.ts";

/** A piece of a reply, as `indwell/modelPieces` has it. */
export type Piece =
  | { readonly kind: "text" | "thinking"; readonly text: string }
  | {
      readonly kind: "call";
      readonly id: string;
      readonly name: string;
      readonly arguments: string;
    };

/** Causes of a failure that are told. */
const DEEPEST = 5;

/** What is used of VS Code's API: a test brings its own. */
export type Api = Pick<
  typeof vscode,
  | "LanguageModelChatMessage"
  | "LanguageModelChatMessageRole"
  | "LanguageModelDataPart"
  | "LanguageModelTextPart"
  | "LanguageModelToolCallPart"
  | "LanguageModelToolResultPart"
>;

/** Who brings the model, and its id there; the id may hold a slash. */
export function selectorOf(model: string): { readonly vendor: string; readonly id: string } {
  const end = model.indexOf("/");
  return { vendor: model.slice(0, Math.max(end, 0)), id: model.slice(end + 1) };
}

/** All messages of a request. */
export function messagesOf(api: Api, request: ModelRequest): vscode.LanguageModelChatMessage[] {
  const { User, Assistant } = api.LanguageModelChatMessageRole;
  return request.messages.map(
    ({ role, parts }) =>
      new api.LanguageModelChatMessage(
        role === "user" ? User : Assistant,
        parts.flatMap((part) => partOf(api, part) ?? []),
      ),
  );
}

/** All tools of a request. */
export function toolsOf(request: ModelRequest): vscode.LanguageModelChatTool[] {
  return request.tools.map(({ name, description, schema }) => ({
    name,
    description,
    inputSchema: objectIn(schema),
  }));
}

/** What a part of a reply says; null for what is of no use here, such as data. */
export function pieceOf(api: Api, part: unknown): Piece | null {
  if (part instanceof api.LanguageModelTextPart)
    return part.value === "" ? null : { kind: "text", text: part.value };
  if (part instanceof api.LanguageModelToolCallPart) {
    const given = JSON.stringify(part.input ?? {});
    return { kind: "call", id: part.callId, name: part.name, arguments: given };
  }
  // Reasoning has a class only in a proposal of the API: it is known by its form.
  if (!isRecord(part) || part.constructor?.name !== "LanguageModelThinkingPart") return null;
  const value = part["value"];
  const text = Array.isArray(value) ? value.join("") : value;
  return typeof text === "string" && text !== "" ? { kind: "thinking", text } : null;
}

/** What is told of a failure: the name that the API gives it, and the words of all its causes. */
export function refusalOf(error: unknown): CompleteResult {
  const words: string[] = [];
  let one: unknown = error;
  for (let deep = 0; one !== undefined && deep < DEEPEST; deep += 1) {
    const said = one instanceof Error ? one.message : String(one);
    if (said !== "" && !words.some((before) => before.includes(said))) words.push(said);
    one = one instanceof Error ? one.cause : undefined;
  }
  const code = isRecord(error) && typeof error["code"] === "string" ? error["code"] : "";
  return { code, message: words.join(": ") || code || "The model failed without a message" };
}

function partOf(
  api: Api,
  part: ModelMessage["parts"][number],
): vscode.LanguageModelInputPart | null {
  const text = (name: string): string => {
    const value = part[name];
    return typeof value === "string" ? value : "";
  };
  switch (part["kind"]) {
    case "text":
      return new api.LanguageModelTextPart(text("text"));
    case "picture":
      return api.LanguageModelDataPart.image(Buffer.from(text("data"), "base64"), text("mime"));
    case "call":
      return new api.LanguageModelToolCallPart(
        text("id"),
        text("name"),
        objectIn(text("arguments")),
      );
    case "result":
      return new api.LanguageModelToolResultPart(text("id"), [
        new api.LanguageModelTextPart(text("text")),
      ]);
    default:
      return null; // of a newer server
  }
}

/** The object in a text; the server has checked that it is one. */
function objectIn(text: string): Record<string, unknown> {
  const value: unknown = JSON.parse(text);
  return isRecord(value) ? value : {};
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null;
}
