/** The chats in editor tabs, each with one session; a reload of the window restores all of them. */

import * as vscode from "vscode";
import type { EventParams } from "../../../protocol.ts";
import { t } from "../../../shared/l10n.ts";
import type { FocusPlace, ToPanel } from "../../../shared/messages.ts";
import type { Action } from "../../../shared/state/action.ts";
import type { ChatHere } from "../../editor/chat-link.ts";
import type { ChatCore } from "../chat-core.ts";
import { shownIn } from "../handlers/questions.ts";
import { storedHere } from "../keeping/kept-file.ts";
import { type ChatPage, freshNonce } from "../panel/view.ts";
import type { Memory } from "../ports.ts";
import type { Elsewhere } from "../room.ts";
import { keptTab, TabMemories, tabLook } from "./tab-state.ts";

/** The type of the tabs in package.json. */
export const TAB = "indwell.session";

/** The parts of an editor tab that the tab's chat uses. */
export interface TabParts {
  readonly memory: Memory;
  readonly post: (message: ToPanel) => Promise<unknown>;
  readonly focused: () => void;
  readonly tellOthers: (session: string, what: Elsewhere) => void;
}

interface Tab {
  readonly id: string;
  readonly panel: vscode.WebviewPanel;
  readonly core: ChatCore;
}

/** Created once for each window. */
export class SessionTabs implements vscode.WebviewPanelSerializer, vscode.Disposable {
  readonly #extension: vscode.Uri;
  readonly #page: ChatPage;
  readonly #main: ChatCore;
  readonly #make: (parts: TabParts) => ChatCore;
  readonly #isRunning: () => boolean;
  readonly #memories: TabMemories;
  readonly #tabs = new Set<Tab>();
  readonly #changed = new vscode.EventEmitter<void>();
  readonly #off: vscode.Disposable;
  #here: Tab | null = null;

  /** `make` creates the chat of a tab; `isRunning` says whether the server answers. */
  constructor(
    context: vscode.ExtensionContext,
    page: ChatPage,
    main: ChatCore,
    make: (parts: TabParts) => ChatCore,
    isRunning: () => boolean,
  ) {
    this.#extension = context.extensionUri;
    this.#page = page;
    this.#main = main;
    this.#make = make;
    this.#isRunning = isRunning;
    this.#memories = new TabMemories(storedHere(context.workspaceState, () => {}));
    const unhear = main.store.listen((action) => this.#mirror(action));
    this.#off = vscode.Disposable.from(
      { dispose: unhear },
      this.#changed,
      vscode.window.registerWebviewPanelSerializer(TAB, this),
    );
  }

  /** Fires when a tab was opened, closed, shown or hidden, or when its chat has changed. */
  get onDidChange(): vscode.Event<void> {
    return this.#changed.event;
  }

  /** The chat of the tab in which the user works, or undefined if it is the panel. */
  get here(): ChatHere | undefined {
    return this.#here?.panel.visible === true ? this.#chatOf(this.#here) : undefined;
  }

  /** The chats of all tabs. */
  get all(): readonly ChatHere[] {
    return [...this.#tabs].map((tab) => this.#chatOf(tab));
  }

  /** The user works in the panel now. */
  leave(): void {
    this.#here = null;
  }

  /** Is the session in a tab that the user sees? */
  readonly isSeen = (session: string): boolean =>
    session !== "" && this.#find(session, true) !== undefined;

  /** Is a tab bound to the session? */
  readonly has = (session: string): boolean => this.#find(session) !== undefined;

  /**
   * Shows the tab of a session, or opens one if there is none; null opens a tab for a new session.
   */
  readonly open = async (session: string | null): Promise<void> => {
    const known = session === null ? undefined : this.#find(session);
    if (known !== undefined) {
      this.#focus(known);
      return;
    }
    const panel = vscode.window.createWebviewPanel(TAB, t("New Session"), vscode.ViewColumn.Active);
    const id = freshNonce();
    if (session !== null) this.#memories.of(id).set("session", session);
    this.#add(panel, id);
  };

  /**
   * Shows the tab of a session with the session's question; returns false if no tab has the
   * session.
   */
  reveal(session: string): boolean {
    const known = this.#find(session);
    if (known === undefined) return false;
    this.#focus(known, "question");
    return true;
  }

  /** Restores a tab for VS Code; `state` is the data that the tab's page has stored. */
  async deserializeWebviewPanel(panel: vscode.WebviewPanel, state: unknown): Promise<void> {
    const { id, session } = keptTab(state);
    // A window that closes soon after its tab was opened may have stored the tab without its page's state.
    const own = id ?? this.#memories.left() ?? freshNonce();
    const memory = this.#memories.of(own);
    if (session !== null && typeof memory.get("session") !== "string")
      memory.set("session", session);
    this.#add(panel, own);
  }

  /**
   * Passes on an event of the server. Tabs get the event before the panel, so that a tab keeps a
   * session that it began.
   */
  event(params: EventParams): void {
    for (const { core } of this.#tabs) core.event(params);
  }

  /** Called when a server has started. */
  started(): void {
    for (const { core } of this.#tabs) void core.started();
  }

  /** Called when the server has ended. */
  gone(connection: Parameters<ChatCore["gone"]>[0]): void {
    for (const { core } of this.#tabs) core.gone(connection);
  }

  /** The selection or the active document has changed. */
  lookedElsewhere(): void {
    for (const { panel, core } of this.#tabs) if (panel.visible) core.refresh.soon("context");
  }

  /**
   * Tells other chats what the user did with a session in the tab `from`, or in the panel if
   * undefined.
   */
  tell(session: string, what: Elsewhere, from?: ChatCore): void {
    for (const tab of [...this.#tabs]) {
      if (tab.core === from && what !== "deleted") continue;
      if (what === "deleted" && tab.core.session === session) tab.panel.dispose();
      else if (tab.core !== from) void tab.core.elsewhere(session, what);
    }
    if (from !== undefined) void this.#main.elsewhere(session, what);
  }

  dispose(): void {
    // The tabs are not closed, because VS Code restores them in the next window.
    for (const { core } of this.#tabs) core.dispose();
    this.#off.dispose();
  }

  #add(panel: vscode.WebviewPanel, id: string): void {
    const core: ChatCore = this.#make({
      memory: this.#memories.of(id),
      post: async (message) => panel.webview.postMessage(message),
      focused: () => {
        this.#here = tab;
      },
      tellOthers: (session, what) => this.tell(session, what, core),
    });
    const tab: Tab = { id, panel, core };
    this.#tabs.add(tab);
    let shown = "";
    const draw = (): void => {
      const { title, icon } = tabLook(core.state);
      if (`${icon} ${title}` === shown) return;
      shown = `${icon} ${title}`;
      panel.title = title;
      const file = (theme: string) =>
        vscode.Uri.joinPath(this.#extension, "media", "tab", `${icon}-${theme}.svg`);
      panel.iconPath = { light: file("light"), dark: file("dark") };
    };
    const look = (): void => {
      if (panel.active) this.#here = tab;
      if (panel.visible) {
        this.#main.board.seen(core.session);
        core.refresh.soon("context");
      } else core.outbox.hidden();
      this.#changed.fire();
    };
    const heard = [
      panel.webview.onDidReceiveMessage((raw: unknown) => void core.bridge.take(raw)),
      panel.onDidChangeViewState(look),
      {
        dispose: core.store.listen((action, state) => {
          if (action.type === "sent") this.#remember(core, state.history);
          draw();
          this.#changed.fire();
        }),
      },
    ];
    panel.onDidDispose(() => {
      for (const one of heard) one.dispose();
      this.#tabs.delete(tab);
      if (this.#here === tab) this.#here = null;
      core.dispose(); // the tab's turn continues
      this.#memories.forget(id);
      this.#changed.fire();
    });
    draw();
    const isGone = (): boolean => !this.#tabs.has(tab);
    void this.#page.show(panel.webview, () => core.outbox.first, isGone, id);
    look();
    if (this.#isRunning()) void core.started();
  }

  #chatOf(tab: Tab): ChatHere {
    return {
      state: tab.core.state,
      perform: (message) => tab.core.bridge.perform(message),
      show: async (focus) => {
        if (focus === false) tab.panel.reveal(undefined, true);
        else this.#focus(tab, focus === true ? "composer" : focus);
        return true;
      },
    };
  }

  #find(session: string, visible = false): Tab | undefined {
    return [...this.#tabs].find(
      ({ core, panel }) => core.session === session && (!visible || panel.visible),
    );
  }

  #focus({ panel, core }: Tab, where: FocusPlace = "composer"): void {
    panel.reveal();
    core.send({ type: "focus", where });
  }

  /**
   * Offers earlier prompts in every chat of the window, because these prompts belong to the
   * workspace.
   */
  #remember(from: ChatCore, prompts: readonly string[]): void {
    for (const core of [this.#main, ...[...this.#tabs].map((tab) => tab.core)])
      if (core !== from) core.store.dispatch({ type: "history", prompts });
  }

  /** What the panel learns about the window is known in each tab. */
  #mirror(action: Action): void {
    switch (action.type) {
      case "changes":
      case "models":
      case "suggestions":
      case "looks":
      case "marks":
      case "questionGone":
      case "firstRun":
      case "near":
        for (const { core } of this.#tabs) core.store.dispatch(action);
        return;
      case "question":
        for (const { core } of this.#tabs) {
          const question = shownIn(core.state, action.question);
          core.store.dispatch({ type: "question", question });
        }
        return;
      case "sent":
        this.#remember(this.#main, this.#main.state.history);
        return;
      default:
        return;
    }
  }
}
