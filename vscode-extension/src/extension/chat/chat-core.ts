/** The chat without the editor: joins its state, events, questions and handlers. */
import type { EventParams } from "../../protocol.ts";
import { COMPACT, CONTINUE } from "../../shared/commands.ts";
import type { ToPanel } from "../../shared/messages.ts";
import { isOwnQuestion, sessionOf } from "../../shared/state/selectors.ts";
import {
  type Attachment,
  initialState,
  type PanelState,
  type Question,
} from "../../shared/state/state.ts";
import type { Clock } from "../clock.ts";
import { type Backend, isCancelled, isGone, sentenceOf } from "./backend.ts";
import { findHandlers, McpOffers, SkillList } from "./find/finding-handler.ts";
import {
  choiceHandlers,
  commandHandlers,
  exportSession,
  planHandlers,
  queueHandlers,
  verdictHandlers,
} from "./handlers/actions.ts";
import { attachHandlers } from "./handlers/attaching.ts";
import { codeHandlers } from "./handlers/code.ts";
import { linkHandlers } from "./handlers/links.ts";
import { mcpHandlers } from "./handlers/mcp-page.ts";
import { Questions } from "./handlers/questions.ts";
import { Sending } from "./handlers/sending.ts";
import { Keeping } from "./keeping/keeping.ts";
import { LastShown } from "./keeping/last-shown.ts";
import { Bridge, type Handlers, type HandlersOf } from "./panel/bridge.ts";
import { Outbox, type Post } from "./panel/outbox.ts";
import type { Ports } from "./ports.ts";
import { type Elsewhere, type Room, Store, type TabRole, tell } from "./room.ts";
import { SessionBoard } from "./session/board.ts";
import { Branches } from "./session/branches.ts";
import { Chosen } from "./session/chosen.ts";
import { Intake } from "./session/intake.ts";
import { Pages } from "./session/pages.ts";
import { Refresh } from "./session/refresh.ts";
import { Sessions } from "./session/sessions.ts";
import { startTab, startWith } from "./session/starting.ts";

/** The parts of the chat. */
export interface Surroundings {
  readonly backend: Backend;
  readonly ports: Ports;
  readonly clock: Clock;
  readonly post: Post;
  readonly nonce: () => string;
  readonly log: (words: string) => void;
  /**
   * Called for a question of the shown session or without a session; shows the panel, but does not
   * take the focus.
   */
  readonly reveal: () => void;
  /** Called for a question of another session. */
  readonly askedBehind: (question: Question, title: string) => void;
  /** Handlers for the first run and keys, which another part implements. */
  readonly firstRun: HandlersOf<"firstRun" | "login"> & {
    readonly connect: () => Promise<void>;
    readonly useEditorModels: () => Promise<void>;
    readonly manageKeys: () => Promise<void>;
  };
  /** Opens a session in an editor tab; null opens a new session. */
  readonly openTab?: (session: string | null) => Promise<void>;
  /** Is the session in a tab that the user sees? */
  readonly isSeenInTab?: (session: string) => boolean;
  /** Is a tab bound to the session? */
  readonly hasTab?: (session: string) => boolean;
  /** Tells the other chats of the window about a change of a session. */
  readonly tellOthers?: (session: string, what: Elsewhere) => void;
  /** Called when the user works in this chat. */
  readonly focused?: () => void;
  /** For a tab, the panel's chat, which has the window's board and questions. */
  readonly panel?: ChatCore;
}

export class ChatCore {
  readonly store: Store;
  readonly bridge: Bridge;
  readonly questions: Questions;
  readonly refresh: Refresh;
  readonly outbox: Outbox;
  readonly board: SessionBoard;
  readonly #room: Room;
  readonly #intake: Intake;
  readonly #keeping: Keeping;
  readonly #lastShown: LastShown;
  readonly #sending: Sending;
  readonly #chosen: Chosen | null;
  readonly #sessions: Sessions;
  readonly #panel: ChatCore | undefined;
  readonly #log: (words: string) => void;
  #stopListening: () => void;

  constructor(around: Surroundings) {
    const { backend, ports, clock, panel } = around;
    const store = new Store(panel === undefined ? initialState : tabState(panel.state));
    this.store = store;
    this.#panel = panel;
    this.#log = around.log;
    this.board =
      panel?.board ??
      new SessionBoard(
        (session) => session === store.state.session || around.isSeenInTab?.(session) === true,
        (marks) => store.dispatch({ type: "marks", marks }),
        around.hasTab,
      );
    const { openTab, tellOthers } = around;
    const tab: TabRole | undefined = panel && { mode: null };
    this.#room = {
      store,
      backend,
      ports,
      clock,
      board: this.board,
      ...(tab && { tab }),
      ...(openTab && { openTab }),
      ...(tellOthers && { tellOthers }),
    };
    this.#keeping = new Keeping(ports.memory, clock);
    this.#lastShown = new LastShown(ports.memory, clock);
    this.#chosen = tab === undefined ? new Chosen(this.#room) : null;
    this.outbox = new Outbox(around.post, clock, () => ({
      state: store.state,
      typed: this.#keeping.typed,
      typedAt: this.#keeping.typedAt,
    }));
    let lacked = false;
    this.#stopListening = store.listen((action, state) => {
      this.#keeping.heard(action, state);
      this.#lastShown.heard(action, state);
      if (action.type === "status") {
        this.#chosen?.heard(action.status);
        if (action.status.session !== null)
          this.board.titled(action.status.session, action.status.title);
        // While no model can be called, the list of models is not requested.
        if (lacked && action.status.lacking === "") this.refresh.soon("models");
        lacked = action.status.lacking !== "";
      }
      this.outbox.add(action, state.revision);
      if (action.type === "firstRun" && action.firstRun === null) {
        this.refresh.soon("status", "models");
      }
      // The user may have decided about a server on the page.
      if (action.type === "mcp" && action.page === null) this.refresh.soon("status");
      // A page of the log does not contain the running turn.
      if (action.type === "opened" && action.session !== null) this.refresh.soon("commands");
    });
    const quietly = (error: unknown): void => this.#log(sentenceOf(error));
    this.refresh = new Refresh(this.#room, quietly);
    const pages = new Pages(this.#room);
    this.#intake = new Intake(this.#room, pages, quietly);
    // The card takes the focus by itself, unless the user is typing.
    this.questions =
      panel?.questions ??
      new Questions(store, around.nonce, (question) => {
        if (isOwnQuestion(question, store.state.session)) around.reveal();
        else around.askedBehind(question, this.board.title(sessionOf(question)));
      });
    this.#sending = new Sending(this.#room, this.#keeping);
    this.#sessions = new Sessions(this.#room, this.#intake, this.refresh);
    this.bridge = new Bridge(this.#handlers(around, pages), {
      dropped: (why) => this.#log(`A message of the panel was dropped (${why})`),
      failed: (error, message) => {
        this.#log(`${message.type}: ${sentenceOf(error)}`);
        if (!isCancelled(error) && !isGone(error)) tell(this.#room, "error", sentenceOf(error));
      },
    });
    const { session } = this.#keeping;
    for (const action of [...this.#keeping.restore(), ...this.#lastShown.restore(session)])
      store.dispatch(action);
  }

  /** The current state. */
  get state(): PanelState {
    return this.store.state;
  }

  /** The session of the chat; until a server runs, the session from before the reload. */
  get session(): string | null {
    return this.state.session ?? this.#keeping.session;
  }

  /** Handles one event of the server. */
  event(params: EventParams): void {
    if (this.#panel === undefined) this.board.heard(params);
    this.#intake.take(params);
    this.refresh.heard(params);
    if (this.#panel !== undefined) return;
    const { event, session } = params;
    if (event.type === "permissionAsked") this.questions.asked(event.question, session);
    else if (event.type === "permissionAnswered") this.questions.withdrawn(event.question, session);
    else if (event.type === "turnFinished") this.questions.finished(session);
  }

  /** Called when a server has started. Never rejects. */
  started(): Promise<void> {
    const start = this.#start();
    this.#sending.after(start.then(() => this.#chosen?.whyHeld() ?? ""));
    return start;
  }

  async #start(): Promise<void> {
    try {
      const { session } = this.#keeping;
      const giveBack = (): void => {
        const waiting = this.state.queue.waiting.map((row) => row.text);
        for (const action of this.#keeping.unsent(waiting)) this.store.dispatch(action);
      };
      if (this.#chosen === null)
        await startTab(this.#room, this.#intake, this.refresh, session, giveBack);
      else await startWith(this.#room, this.#intake, this.refresh, this.#chosen, session, giveBack);
    } catch (error) {
      this.#log(sentenceOf(error));
      if (!isCancelled(error) && !isGone(error)) tell(this.#room, "error", sentenceOf(error));
    }
  }

  /** Called when the server has ended, or has not started. */
  gone(connection: Exclude<PanelState["connection"], { kind: "ready" }>): void {
    this.#intake.reset();
    if (this.#chosen !== null) {
      this.#chosen.gone();
      this.questions.clear();
      this.board.gone();
    }
    this.store.dispatch({ type: "connection", connection });
  }

  /** Called after the user did something with a session in another chat of the window. */
  async elsewhere(session: string, what: Elsewhere): Promise<void> {
    if (session !== this.state.session) return;
    if (what === "deleted") await this.#sessions.empty();
    else {
      if (what === "rewound") this.#intake.reset();
      await this.#intake.open(session, true).catch((error) => this.#log(sentenceOf(error)));
      this.refresh.soon("status", "queue", "context");
    }
  }

  /** Sends a prompt with its own attachments; the draft keeps its attachments. */
  ask(words: string, attachments: readonly Attachment[]): void {
    this.#sending.alone(words, attachments);
  }

  /** Shows a message that is not part of the state. */
  send(message: ToPanel): void {
    this.outbox.send(message);
  }

  dispose(): void {
    if (this.#panel === undefined) this.questions.clear();
    this.refresh.dispose();
    this.#keeping.dispose();
    this.#lastShown.dispose();
    this.outbox.hidden();
    this.#stopListening();
  }

  #handlers(around: Surroundings, pages: Pages): Handlers {
    const room = this.#room;
    const sending = this.#sending;
    const sessions = this.#sessions;
    const branches = new Branches(room, this.#intake, this.refresh, sessions, sending);
    const { connect, useEditorModels, manageKeys, firstRun, login } = around.firstRun;
    return {
      ...sending.handlers(),
      ...queueHandlers(room),
      ...attachHandlers(room),
      ...planHandlers(room),
      ...commandHandlers(room),
      ...mcpHandlers(room),
      ...findHandlers(room.ports.finding, new SkillList(room), new McpOffers(room), (message) =>
        this.outbox.send(message),
      ),
      colour: async ({ id, code, language, theme }) => {
        const coloured = await room.ports.colouring.colour(code, language, theme);
        this.outbox.send({ type: "coloured", id, coloured });
      },
      ...sessions.handlers(),
      ...branches.handlers(),
      ...codeHandlers(room, (words) => sending.alone(words)),
      ...linkHandlers(room),
      ...verdictHandlers(room, this.refresh),
      ...choiceHandlers(room, this.refresh, sessions, this.#chosen ?? NO_CHOICE, {
        connect,
        useEditorModels,
        manageKeys,
        exportCurrent: () => exportSession(room, null),
        // The command is sent as a prompt, which waits until the session is resumed after a reload.
        goOn: () => sending.alone(CONTINUE),
        compactOwn: () => sending.alone(COMPACT),
      }),
      firstRun,
      login,
      ready: ({ at }) => this.outbox.ready(at),
      focused: () => around.focused?.(),
      typed: ({ text, at }) => this.#keeping.setTyped(text, at),
      older: () => pages.older(),
      openTool: ({ turn, id }) => pages.detail(turn, id),
      exportSession: ({ session }) => exportSession(room, session),
      answer: ({ nonce, answer, hunks }) => {
        if (!this.questions.answer(nonce, answer, hunks))
          this.#log("An answer arrived without a question");
      },
      said: ({ nonce, text }) => {
        if (!this.questions.said(nonce, text)) this.#log("An answer arrived without a question");
      },
      chosen: ({ nonce, option }) => {
        if (!this.questions.chosen(nonce, option))
          this.#log("An answer arrived without a question");
      },
      openQuestion: async ({ nonce }) => {
        const question = this.questions.find(nonce);
        if (question?.kind !== "permission") return;
        const { title, detail } = question.asked;
        await room.ports.documents.showReadOnly(title, detail);
      },
    };
  }
}

/** In a tab, a choice applies only to the tab; the panel remembers the choices of the window. */
const NO_CHOICE: Pick<Chosen, "choose"> = { choose: () => undefined };

/**
 * Returns the state of a new tab: what the panel knows about the window, without the panel's
 * session.
 */
function tabState(panel: PanelState): PanelState {
  const { connection, models, pending, suggestions, looks, marks, questions, history, firstRun } =
    panel;
  const known = { connection, models, pending, suggestions, looks, marks, questions, history };
  return { ...initialState, ...known, firstRun, isTab: true };
}
