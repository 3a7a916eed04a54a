/** Wires the chat: the view, the server, the first run. */
import * as vscode from "vscode";
import type { EventParams } from "../../protocol.ts";
import { t } from "../../shared/l10n.ts";
import { ownQuestions, sessionOf } from "../../shared/state/selectors.ts";
import type { PanelState, Question } from "../../shared/state/state.ts";
import { behindWords } from "../../shared/words.ts";
import { debounced, realClock } from "../clock.ts";
import type { LastCommands } from "../editor/attach/last-command.ts";
import type { ChatHere, ChatLink } from "../editor/chat-link.ts";
import { FirstRunFlow } from "../first-run/flow.ts";
import { manageKeys } from "../first-run/manage-keys.ts";
import type { Models } from "../models/register.ts";
import { say } from "../say.ts";
import type { Server } from "../server/server.ts";
import { watchSuggestions } from "../suggestions/watch.ts";
import { ChatCore, type Surroundings } from "./chat-core.ts";
import { serveQuestions } from "./handlers/serve-questions.ts";
import { ChatPage, ChatViewProvider, freshNonce, VIEW, watchLooks } from "./panel/view.ts";
import { connectionOf, serverBackend } from "./server-backend.ts";
import { SessionTabs, type TabParts } from "./session/session-tabs.ts";
import { vscodePorts } from "./vscode-ports.ts";

interface Chat extends ChatLink, vscode.Disposable {}

const SHOW = t("Show");
/** Milliseconds between two reports of the state. */
const REPORT_MS = 33;

/** Registers the view and answers the server's questions; starts no process. */
export function registerChat(
  context: vscode.ExtensionContext,
  server: Server,
  models: Pick<Models, "onDidChange">,
  terminals: LastCommands,
): Chat {
  const subscriptions: vscode.Disposable[] = [];
  const states = new vscode.EventEmitter<PanelState>();
  const events = new vscode.EventEmitter<EventParams>();
  const returned = new vscode.EventEmitter<void>();
  const backend = serverBackend(server);
  const store = {
    dispatch: (action: Parameters<ChatCore["store"]["dispatch"]>[0]) => core.store.dispatch(action),
  };
  const flow = new FirstRunFlow({
    request: (method, params) => server.request(method, params),
    secrets: context.secrets,
    dispatch: store.dispatch,
  });
  const page = new ChatPage(context.extensionUri);
  const view: ChatViewProvider = new ChatViewProvider(page, {
    first: () => core.outbox.first,
    took: (raw) => void core.bridge.take(raw),
    shown: (visible) => {
      if (visible) returned.fire();
      if (!visible) core.outbox.hidden();
      else if (server.state.kind === "off")
        server.ready().catch(() => {}); // The state contains the reason.
      else if (server.state.kind === "running") core.refresh.soon("context");
    },
  });
  const log = (words: string): void => server.log.info(t("Chat: {0}", words));
  const ports = vscodePorts(context, subscriptions, terminals, log);
  const inCommon: Pick<
    Surroundings,
    "backend" | "clock" | "nonce" | "log" | "firstRun" | "openTab"
  > = {
    backend,
    clock: realClock,
    nonce: freshNonce,
    log,
    firstRun: {
      firstRun: (message) => flow.handle(message),
      login: (message) => flow.handle(message),
      connect: () => flow.open(),
      useEditorModels: () => flow.useEditorModels(),
      manageKeys: () => manageKeys(context.secrets),
    },
    openTab: (session) => tabs.open(session),
  };
  const core: ChatCore = new ChatCore({
    ...inCommon,
    ports,
    post: view.post,
    reveal: () => {
      const session = core.state.session ?? "";
      if (!view.visible && !tabs.isSeen(session)) void view.show(false);
    },
    askedBehind: (question, title) => void askedBehind(question, title),
    isSeenInTab: (session) => tabs.isSeen(session),
    hasTab: (session) => tabs.has(session),
    tellOthers: (session, what) => tabs.tell(session, what),
    focused: () => tabs.leave(),
  });
  const makeTab = ({ memory, ...parts }: TabParts): ChatCore =>
    new ChatCore({
      ...inCommon,
      ...parts,
      ports: { ...ports, memory },
      reveal: () => undefined,
      askedBehind: () => undefined,
      panel: core,
    });
  const tabs = new SessionTabs(context, page, core, makeTab, () => server.state.kind === "running");
  const show = async (focus: Parameters<Chat["show"]>[0]): Promise<boolean> => {
    const behind = core.state.questions[0];
    const asks = ownQuestions(core.state).length > 0;
    if (focus === "question" && !asks && behind !== undefined)
      if (tabs.reveal(sessionOf(behind))) return true;
      else await core.bridge.perform({ type: "openSession", session: sessionOf(behind) });
    const shown = await view.show(focus !== false);
    if (shown && focus !== false) {
      const has = focus === "question" && ownQuestions(core.state).length > 0;
      core.send({
        type: "focus",
        where: has ? "question" : focus === "find" ? "find" : "composer",
      });
    }
    return shown;
  };
  /**
   * Shows a quiet notice for a question of a session that is not shown; the notice leads to the
   * question.
   */
  const askedBehind = async (question: Question, title: string): Promise<void> => {
    const session = sessionOf(question);
    if (tabs.isSeen(session)) return;
    const chosen = await say("info", behindWords(question, title), SHOW);
    if (chosen !== SHOW || tabs.reveal(session)) return;
    await core.bridge.perform({ type: "openSession", session: sessionOf(question) });
    await show("question");
  };
  const look = (): void => {
    const connection = connectionOf(server.state, Date.now());
    if (connection === null) {
      void core.started();
      tabs.started();
    } else if (connection.kind !== "ready") {
      core.gone(connection);
      tabs.gone(connection);
    }
  };
  const contextSoon = debounced(realClock, 300, () => {
    if (view.visible) core.refresh.soon("context");
    tabs.lookedElsewhere();
  });
  let isPlanned = false;
  let wasEmpty = true;
  const report = (): void => {
    if (isPlanned) return;
    isPlanned = true;
    realClock.after(REPORT_MS, () => {
      isPlanned = false;
      states.fire(core.state);
      const isEmpty = core.state.turns.length === 0;
      if (isEmpty && !wasEmpty) returned.fire();
      wasEmpty = isEmpty;
      view.badge(core.state.questions.length, t("Indwell asks"));
    });
  };
  subscriptions.push(
    states,
    events,
    returned,
    flow,
    tabs,
    core,
    contextSoon,
    vscode.window.registerWebviewViewProvider(VIEW, view, {
      webviewOptions: { retainContextWhenHidden: false },
    }),
    server.onDidChangeState(look),
    models.onDidChange(() => core.refresh.soon("models", "status")),
    server.attach((client) =>
      vscode.Disposable.from(
        client.onNotification("indwell/event", (params: EventParams) => {
          tabs.event(params);
          core.event(params);
          events.fire(params);
        }),
        serveQuestions(client, core.questions, flow, view, (session) =>
          session === core.state.session ? "panel" : tabs.isSeen(session) ? "tab" : "nowhere",
        ),
      ),
    ),
    vscode.window.onDidChangeTextEditorSelection(contextSoon),
    vscode.window.onDidChangeActiveTextEditor(contextSoon),
    watchLooks((looks) => store.dispatch({ type: "looks", looks })),
    watchSuggestions((suggestions) => store.dispatch({ type: "suggestions", suggestions }), {
      isLooking: () => view.visible && core.state.turns.length === 0,
      onDidReturn: returned.event,
    }),
    { dispose: core.store.listen(report) },
    tabs.onDidChange(report),
  );
  look();
  const panel: ChatHere = {
    get state() {
      return core.state;
    },
    show,
    perform: (message) => core.bridge.perform(message),
  };
  return {
    get state() {
      return core.state;
    },
    onDidChangeState: states.event,
    onEvent: events.event,
    get visible() {
      return view.visible || tabs.isSeen(core.state.session ?? "");
    },
    show,
    get here() {
      return tabs.here ?? panel;
    },
    get all() {
      return [panel, ...tabs.all];
    },
    openTab: tabs.open,
    perform: (message) => core.bridge.perform(message),
    ask: (words, attachments) => core.ask(words, attachments),
    dispose: () => vscode.Disposable.from(...subscriptions).dispose(),
  };
}
