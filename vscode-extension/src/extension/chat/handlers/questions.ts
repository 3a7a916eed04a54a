/** Keeps the server's open questions to the user: each has a nonce, and is answered once. */
import type {
  AskParams,
  AskResult,
  PermissionParams,
  PermissionResult,
} from "../../../protocol.ts";
import { askingCall, isOwnQuestion } from "../../../shared/state/selectors.ts";
import type { PanelState, Question } from "../../../shared/state/state.ts";
import type { Token } from "../backend.ts";
import type { Store } from "../room.ts";

type Answer = PermissionResult["answer"];

interface Waiting {
  readonly question: Question;
  /** The safe answer, which is no or an empty text. */
  readonly refuse: () => void;
  readonly permit?: (answer: PermissionResult) => void;
  readonly say?: (answer: AskResult) => void;
}

export class Questions {
  readonly #store: Store;
  readonly #nonce: () => string;
  readonly #shown: (question: Question) => void;
  readonly #waiting = new Map<string, Waiting>();
  /** Ids of questions that turns of a session have asked. */
  readonly #sessions = new Map<string, string>();

  /** `nonce` returns an unguessable name; `shown` is called when a question arrives. */
  constructor(store: Store, nonce: () => string, shown: (question: Question) => void) {
    this.#store = store;
    this.#nonce = nonce;
    this.#shown = shown;
  }

  /** Handles `indwell/permission`, and always answers: no, unless the user says yes. */
  permission(asked: PermissionParams, token: Token): Promise<PermissionResult> {
    const nonce = this.#nonce();
    // The card of the call that the question is about.
    const { state } = this.#store;
    const isShown = asked.session === "" || asked.session === state.session;
    const question: Question = {
      kind: "permission",
      nonce,
      asked,
      ...(isShown ? askerIn(state) : { tool: null, agent: "" }),
    };
    return new Promise((resolve) => {
      this.#wait(token, {
        question,
        permit: resolve,
        refuse: () => resolve({ answer: "no" }),
      });
    });
  }

  /** Handles `indwell/ask`: answers with a text, an option, or neither. */
  ask(asked: AskParams, token: Token): Promise<AskResult> {
    const nonce = this.#nonce();
    const { prompt, placeholder, by, options, session } = asked;
    const question: Question = { kind: "ask", nonce, prompt, placeholder, by, options, session };
    return new Promise((resolve) => {
      this.#wait(token, {
        question,
        say: resolve,
        refuse: () => resolve({ text: null }),
      });
    });
  }

  /** Accepts the user's answer, which is ignored unless `nonce` belongs to an open question. */
  answer(nonce: string, answer: Answer, hunks: readonly string[] | null): boolean {
    const waiting = this.#waiting.get(nonce);
    if (waiting?.permit === undefined || waiting.question.kind !== "permission") return false;
    this.#gone(nonce);
    waiting.permit(allowed(waiting.question.asked, answer, hunks));
    return true;
  }

  /** Accepts the user's text as the answer; null closes the question. */
  said(nonce: string, text: string | null): boolean {
    const waiting = this.#waiting.get(nonce);
    if (waiting?.say === undefined) return false;
    this.#gone(nonce);
    waiting.say({ text });
    return true;
  }

  /** Answers with an option by its index; an index that was not offered is ignored. */
  chosen(nonce: string, option: number): boolean {
    const waiting = this.#waiting.get(nonce);
    if (waiting?.say === undefined || waiting.question.kind !== "ask") return false;
    if (waiting.question.options[option] === undefined) return false;
    this.#gone(nonce);
    waiting.say({ text: null, chosen: option });
    return true;
  }

  /** Finds the open question with this nonce. */
  find(nonce: string): Question | undefined {
    return this.#waiting.get(nonce)?.question;
  }

  /** Closes a question that the server has withdrawn; `id` is as in `permissionAnswered`. */
  withdrawn(id: string, session: string): void {
    this.#sessions.delete(id);
    for (const [nonce, { question, refuse }] of [...this.#waiting]) {
      if (question.kind !== "permission" || question.asked.id !== id) continue;
      // Two sessions may ask about the same call.
      if (isOwnQuestion(question, session)) {
        this.#gone(nonce);
        refuse();
      }
    }
  }

  /** Records that a turn of `session` asks this question; `id` is as in `permissionAsked`. */
  asked(id: string, session: string): void {
    this.#sessions.set(id, session);
  }

  /** Closes the questions of a turn of `session` that has ended. */
  finished(session: string): void {
    for (const [id, of] of [...this.#sessions]) {
      if (of !== session) continue;
      this.#sessions.delete(id);
      this.withdrawn(id, session);
    }
  }

  /** Closes all questions, because the server is gone and no answer can be sent. */
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
    this.#shown(waiting.question);
  }

  #gone(nonce: string): void {
    this.#waiting.delete(nonce);
    this.#store.dispatch({ type: "questionGone", nonce });
  }
}

/** Returns the question as a tab shows it, with the call and the sub-agent of the tab's session. */
export function shownIn(state: PanelState, question: Question): Question {
  const isOwn = question.kind === "permission" && question.asked.session === state.session;
  return isOwn ? { ...question, ...askerIn(state) } : question;
}

function askerIn(state: PanelState): { readonly tool: string | null; readonly agent: string } {
  const asking = askingCall(state);
  return { tool: asking?.call.name ?? null, agent: asking?.agent?.target ?? "" };
}

/** Accepts only an answer that was offered; any other answer means no. */
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
