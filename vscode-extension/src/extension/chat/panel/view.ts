/**
 * Shows the panel in the editor: a webview that is rebuilt from the state whenever it is shown;
 * tells it the editor's settings for its appearance.
 */
import { randomBytes } from "node:crypto";
import { readFile } from "node:fs/promises";
import * as vscode from "vscode";
import { spoken } from "../../../shared/l10n.ts";
import type { ToPanel } from "../../../shared/messages.ts";
import type { Looks } from "../../../shared/state/state.ts";
import { pageHtml } from "./html.ts";

/** Sends the settings now, and whenever they change. */
export function watchLooks(told: (looks: Looks) => void): vscode.Disposable {
  const tell = (): void => told(looksNow());
  tell();
  return vscode.workspace.onDidChangeConfiguration((event) => {
    const ours = ["indwell.enterSends", "workbench.reduceMotion"];
    if (ours.some((name) => event.affectsConfiguration(name))) tell();
  });
}

function looksNow(): Looks {
  const motion = vscode.workspace.getConfiguration("workbench").get<string>("reduceMotion");
  return {
    enterSends: vscode.workspace.getConfiguration("indwell").get<boolean>("enterSends", true),
    // `auto` means the system's setting, which the webview reads itself.
    reducedMotion: motion === "on",
  };
}

/** The view's name in package.json. */
export const VIEW = "indwell.chat";

/** Returns an unguessable word. */
export function freshNonce(): string {
  return randomBytes(24).toString("base64url");
}

/** The chat's page, whose shipped texts are read once. */
export class ChatPage {
  readonly #dist: vscode.Uri;
  readonly #texts: Promise<readonly [script: string, style: string]>;

  constructor(extension: vscode.Uri) {
    this.#dist = vscode.Uri.joinPath(extension, "dist");
    const text = (name: string) =>
      readFile(vscode.Uri.joinPath(this.#dist, name).fsPath, { encoding: "utf8" });
    this.#texts = Promise.all([text("webview.js"), text("webview.css")]);
    this.#texts.catch(() => {}); // Whoever shows the page reports the error.
  }

  /**
   * Puts the page into a webview. `first` returns the state that the page draws at once; `isGone`
   * returns whether the webview was closed meanwhile; `tab` is the id of an editor tab.
   */
  async show(
    webview: vscode.Webview,
    first: () => string,
    isGone: () => boolean,
    tab?: string,
  ): Promise<void> {
    const [script, style] = await this.#texts;
    if (!isGone()) fillWebview(webview, this.#dist, { script, style, first: first(), tab });
  }
}

function fillWebview(
  webview: vscode.Webview,
  dist: vscode.Uri,
  texts: {
    readonly script: string;
    readonly style: string;
    readonly first: string;
    readonly tab: string | undefined;
  },
): void {
  webview.options = {
    enableScripts: true,
    // The forms are Indwell's own; the content policy prevents sending them anywhere.
    enableForms: true,
    enableCommandUris: false,
    localResourceRoots: [dist],
  };
  const { tab, ...rest } = texts;
  webview.html = pageHtml({
    ...rest,
    source: webview.cspSource,
    base: String(webview.asWebviewUri(dist)),
    nonce: freshNonce(),
    language: spoken(),
    ...(tab !== undefined && { tab }),
  });
}

/** Listeners for events of the view. */
interface ViewListener {
  /** Returns the state that the page draws at once, as JSON; may be empty. */
  readonly first: () => string;
  /** Called with a message of unknown type. */
  took(raw: unknown): void;
  /** Called when the view became visible or hidden. */
  shown(visible: boolean): void;
}

export class ChatViewProvider implements vscode.WebviewViewProvider {
  readonly #page: ChatPage;
  readonly #listener: ViewListener;
  #view: vscode.WebviewView | undefined;

  constructor(page: ChatPage, listener: ViewListener) {
    this.#page = page;
    this.#listener = listener;
  }

  get visible(): boolean {
    return this.#view?.visible ?? false;
  }

  async resolveWebviewView(view: vscode.WebviewView): Promise<void> {
    this.#view = view;
    const { webview } = view;
    const heard = [
      webview.onDidReceiveMessage((raw: unknown) => this.#listener.took(raw)),
      view.onDidChangeVisibility(() => this.#listener.shown(view.visible)),
    ];
    view.onDidDispose(() => {
      for (const one of heard) one.dispose();
      if (this.#view !== view) return;
      this.#view = undefined;
      this.#listener.shown(false);
    });
    this.#listener.shown(view.visible);
    await this.#page.show(webview, this.#listener.first, () => this.#view !== view);
  }

  /** Sends a message; if there is no view, the message is dropped, and a snapshot is sent later. */
  readonly post = async (message: ToPanel): Promise<unknown> =>
    this.#view?.webview.postMessage(message);

  /**
   * Shows the view, with the focus if `focus` is set; returns false if the view cannot be shown.
   */
  async show(focus: boolean): Promise<boolean> {
    if (this.#view === undefined || focus) {
      await vscode.commands.executeCommand(`${VIEW}.focus`, { preserveFocus: !focus });
    } else this.#view.show(true);
    return this.visible;
  }

  /** Shows a number on the view's icon; 0 shows no number. */
  badge(count: number, tooltip: string): void {
    if (this.#view === undefined) return;
    this.#view.badge = count === 0 ? undefined : { value: count, tooltip };
  }
}
