/** Converts requests and replies of the editor's language models between the server's and VS Code's form. Pure. */
import type * as vscode from "vscode";
import type { CompleteResult, ModelMessage, ModelRequest } from "../../protocol.ts";

/** A part of a reply, as in `indwell/modelPieces`. */
export type Piece =
  | { readonly kind: "text" | "thinking"; readonly text: string }
  | {
      readonly kind: "call";
      readonly id: string;
      readonly name: string;
      readonly arguments: string;
    };

/** The maximum number of causes of a failure that are reported. */
const DEEPEST = 5;

/** The used part of VS Code's API; a test passes its own. */
export type Api = Pick<
  typeof vscode,
  | "LanguageModelChatMessage"
  | "LanguageModelChatMessageRole"
  | "LanguageModelDataPart"
  | "LanguageModelTextPart"
  | "LanguageModelToolCallPart"
  | "LanguageModelToolResultPart"
>;

/** Splits a model's name into the vendor, and the vendor's id, which may contain a slash. */
export function selectorOf(model: string): { readonly vendor: string; readonly id: string } {
  const end = model.indexOf("/");
  return { vendor: model.slice(0, Math.max(end, 0)), id: model.slice(end + 1) };
}

/** Converts all messages of a request. */
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

/** Converts all tools of a request. */
export function toolsOf(request: ModelRequest): vscode.LanguageModelChatTool[] {
  return request.tools.map(({ name, description, schema }) => ({
    name,
    description,
    inputSchema: objectIn(schema),
  }));
}

/** Converts a part of a reply; returns null for unused parts, such as data. */
export function pieceOf(api: Api, part: unknown): Piece | null {
  if (part instanceof api.LanguageModelTextPart)
    return part.value === "" ? null : { kind: "text", text: part.value };
  if (part instanceof api.LanguageModelToolCallPart) {
    const given = JSON.stringify(part.input ?? {});
    return { kind: "call", id: part.callId, name: part.name, arguments: given };
  }
  // Reasoning has a class only in a proposed API, so it is recognised by its fields.
  if (!isRecord(part) || part.constructor?.name !== "LanguageModelThinkingPart") return null;
  const value = part["value"];
  const text = Array.isArray(value) ? value.join("") : value;
  return typeof text === "string" && text !== "" ? { kind: "thinking", text } : null;
}

/** Returns the report of a failure: its name in the API, and the messages of all its causes. */
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
      return null; // The part comes from a newer server.
  }
}

/** Parses the JSON object in a text; the server has checked that it is an object. */
function objectIn(text: string): Record<string, unknown> {
  const value: unknown = JSON.parse(text);
  return isRecord(value) ? value : {};
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null;
}
