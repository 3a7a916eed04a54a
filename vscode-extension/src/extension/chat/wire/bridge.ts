/** The only entry for messages of the webview: each is checked, then passed to the handler of its type. */
import type { ToHost } from "../../../shared/messages.ts";
import { checked } from "./message-schema.ts";

/** One handler for each message. */
export type Handlers = {
  readonly [Type in ToHost["type"]]: (
    message: Extract<ToHost, { readonly type: Type }>,
  ) => void | Promise<void>;
};

/** The handlers of some messages. */
export type HandlersOf<Type extends ToHost["type"]> = Pick<Handlers, Type>;

export interface BridgeReport {
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
