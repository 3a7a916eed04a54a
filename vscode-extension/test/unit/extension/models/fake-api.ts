/** The classes of VS Code's API that hold parts of messages, as plain as they are there. */
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

/** Only a proposal of the API has it. */
export class LanguageModelThinkingPart {
  constructor(readonly value: string | string[]) {}
}

/** All of it. */
export const API = {
  LanguageModelChatMessage,
  LanguageModelChatMessageRole: { User: 1, Assistant: 2 },
  LanguageModelDataPart,
  LanguageModelTextPart,
  LanguageModelToolCallPart,
  LanguageModelToolResultPart,
} as unknown as Api;
