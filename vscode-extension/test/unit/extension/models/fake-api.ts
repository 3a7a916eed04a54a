/** The classes of VS Code's API for the parts of messages. */
import type { Api } from "../../../../src/extension/models/translate.ts";

class LanguageModelTextPart {
  constructor(readonly value: string) {}
}

class LanguageModelToolCallPart {
  constructor(
    readonly callId: string,
    readonly name: string,
    readonly input: object,
  ) {}
}

class LanguageModelToolResultPart {
  constructor(
    readonly callId: string,
    readonly content: unknown[],
  ) {}
}

class LanguageModelDataPart {
  static image(data: Uint8Array, mime: string): LanguageModelDataPart {
    return new LanguageModelDataPart(Uint8Array.from(data), mime);
  }

  constructor(
    readonly data: Uint8Array,
    readonly mimeType: string,
  ) {}
}

class LanguageModelChatMessage {
  constructor(
    readonly role: number,
    readonly content: unknown[],
  ) {}
}

/** A class that only a proposed API has. */
export class LanguageModelThinkingPart {
  constructor(readonly value: string | string[]) {}
}

/** The classes as the API that the extension uses. */
export const API = {
  LanguageModelChatMessage,
  LanguageModelChatMessageRole: { User: 1, Assistant: 2 },
  LanguageModelDataPart,
  LanguageModelTextPart,
  LanguageModelToolCallPart,
  LanguageModelToolResultPart,
} as unknown as Api;
