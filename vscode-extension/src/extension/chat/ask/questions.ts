/** Questions of the server that wait for the user: each has a nonce, and is answered once. */
import type {
  AskParams,
  AskResult,
  PermissionParams,
  PermissionResult,
} from "../../../protocol.ts";
import { askingCall } from "../../../shared/selectors.ts";
import type { Question } from "../../../shared/state.ts";
import type { Token } from "../backend.ts";
import type { Store } from "../store.ts";

type Answer = PermissionResult["answer"];

interface Waiting {
  readonly question: Question;
  /** Answers with the careful choice: no, or nothing typed. */
  readonly refuse: () => void;
  readonly permit?: (answer: PermissionResult) => void;
  readonly say?: (answer: AskResult) => void;
}

export class Questions {
  readonly #store: Store;
  readonly #nonce: () => string;
  readonly #shown: () => void;
  readonly #waiting = new Map<string, Waiting>();
  /** Ids of questions that turns of a session have asked. */
  readonly #sessions = new Map<string, string>();

  /** `nonce` gives a name that nobody can guess; `shown` is called when a question has come. */
  constructor(store: Store, nonce: () => string, shown: () => void) {
    this.#store = store;
    this.#nonce = nonce;
    this.#shown = shown;
  }

  /** `indwell/permission`: always answered; no unless the user says otherwise. */
  permission(asked: PermissionParams, token: Token): Promise<PermissionResult> {
    const nonce = this.#nonce();
    // Whose call is asked about: the card that says so.
    const asking = askingCall(this.#store.state);
    const tool = asking?.call.name ?? null;
    const agent = asking?.agent?.target ?? "";
    const question: Question = { kind: "permission", nonce, asked, tool, agent };
    return new Promise((resolve) => {
      this.#wait(token, {
        question,
        permit: resolve,
        refuse: () => resolve({ answer: "no" }),
      });
    });
  }

  /** `indwell/ask`: the words, which option, or neither. */
  ask({ prompt, placeholder, by, options }: AskParams, token: Token): Promise<AskResult> {
    const nonce = this.#nonce();
    const question: Question = { kind: "ask", nonce, prompt, placeholder, by, options };
    return new Promise((resolve) => {
      this.#wait(token, {
        question,
        say: resolve,
        refuse: () => resolve({ text: null }),
      });
    });
  }

  /** The user's answer; without the nonce of a question that waits it counts for nothing. */
  answer(nonce: string, answer: Answer, hunks: readonly string[] | null): boolean {
    const waiting = this.#waiting.get(nonce);
    if (waiting?.permit === undefined || waiting.question.kind !== "permission") return false;
    this.#gone(nonce);
    waiting.permit(allowed(waiting.question.asked, answer, hunks));
    return true;
  }

  /** The user's words; null closes the question. */
  said(nonce: string, text: string | null): boolean {
    const waiting = this.#waiting.get(nonce);
    if (waiting?.say === undefined) return false;
    this.#gone(nonce);
    waiting.say({ text });
    return true;
  }

  /** One of the options, by its place; another than was offered counts for nothing. */
  chosen(nonce: string, option: number): boolean {
    const waiting = this.#waiting.get(nonce);
    if (waiting?.say === undefined || waiting.question.kind !== "ask") return false;
    if (waiting.question.options[option] === undefined) return false;
    this.#gone(nonce);
    waiting.say({ text: null, chosen: option });
    return true;
  }

  /** The question of this nonce, while it waits. */
  find(nonce: string): Question | undefined {
    return this.#waiting.get(nonce)?.question;
  }

  /** The server asks no more: `id` as in `permissionAnswered`. */
  withdrawn(id: string): void {
    this.#sessions.delete(id);
    for (const [nonce, { question, refuse }] of [...this.#waiting]) {
      if (question.kind === "permission" && question.asked.id === id) {
        this.#gone(nonce);
        refuse();
      }
    }
  }

  /** A turn of `session` asks this: `id` as in `permissionAsked`. */
  asked(id: string, session: string): void {
    this.#sessions.set(id, session);
  }

  /** A turn of `session` is over: nothing that it asked may be answered any more. */
  finished(session: string): void {
    for (const [id, of] of [...this.#sessions]) {
      if (of !== session) continue;
      this.#sessions.delete(id);
      this.withdrawn(id);
    }
  }

  /** The server is gone; nobody hears an answer. */
  clear(): void {
    this.#sessions.clear();
    for (const [nonce, { refuse }] of [...this.#waiting]) {
      this.#gone(nonce);
      refuse();
    }
  }

  #wait(token: Token, waiting: Waiting): void {
    const { nonce } = waiting.question;
    if (token.isCancellationRequested) {
      waiting.refuse();
      return;
    }
    this.#waiting.set(nonce, waiting);
    token.onCancellationRequested(() => {
      if (!this.#waiting.has(nonce)) return;
      this.#gone(nonce);
      waiting.refuse();
    });
    this.#store.dispatch({ type: "question", question: waiting.question });
    this.#shown();
  }

  #gone(nonce: string): void {
    this.#waiting.delete(nonce);
    this.#store.dispatch({ type: "questionGone", nonce });
  }
}

/** What was offered may be answered; all else is no. */
function allowed(
  asked: PermissionParams,
  answer: Answer,
  hunks: readonly string[] | null,
): PermissionResult {
  if ((answer === "session" || answer === "always") && asked.rule === "") return { answer: "no" };
  if (answer === "no" || hunks === null || asked.hunks.length === 0) return { answer };
  const known = new Set(asked.hunks.map((hunk) => hunk.id));
  const named = hunks.filter((hunk) => known.has(hunk));
  return named.length === 0 ? { answer: "no" } : { answer, hunks: named };
}
