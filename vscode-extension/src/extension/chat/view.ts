/** Shows the panel in the editor: a webview that is rebuilt from the state whenever it is shown. */
import { randomBytes } from "node:crypto";
import * as vscode from "vscode";
import type { ToPanel } from "../../shared/messages.ts";
import { pageHtml } from "./html.ts";

/** The view's name in package.json. */
export const VIEW = "indwell.chat";

/** Returns an unguessable word. */
export function freshNonce(): string {
  return randomBytes(24).toString("base64url");
}

/** Puts the chat's page into a webview; `tab` is the id of an editor tab. */
export function fillWebview(webview: vscode.Webview, extension: vscode.Uri, tab?: string): void {
  const dist = vscode.Uri.joinPath(extension, "dist");
  webview.options = {
    enableScripts: true,
    // The forms are Indwell's own; the content policy prevents sending them anywhere.
    enableForms: true,
    enableCommandUris: false,
    localResourceRoots: [dist],
  };
  const reached = (name: string) => String(webview.asWebviewUri(vscode.Uri.joinPath(dist, name)));
  webview.html = pageHtml({
    source: webview.cspSource,
    script: reached("webview.js"),
    style: reached("webview.css"),
    nonce: freshNonce(),
    ...(tab !== undefined && { tab }),
  });
}

/** Listeners for events of the view. */
export interface ViewListener {
  /** Called with a message of unknown type. */
  took(raw: unknown): void;
  /** Called when the view became visible or hidden. */
  shown(visible: boolean): void;
}

export class ChatViewProvider implements vscode.WebviewViewProvider {
  readonly #extension: vscode.Uri;
  readonly #listener: ViewListener;
  #view: vscode.WebviewView | undefined;

  constructor(extension: vscode.Uri, listener: ViewListener) {
    this.#extension = extension;
    this.#listener = listener;
  }

  get visible(): boolean {
    return this.#view?.visible ?? false;
  }

  resolveWebviewView(view: vscode.WebviewView): void {
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
    fillWebview(webview, this.#extension);
    this.#listener.shown(view.visible);
  }

  /** Sends a message; without a view it is dropped, and a snapshot is sent later. */
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
