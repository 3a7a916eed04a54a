/** What the editor's settings say about the panel's looks. */
import * as vscode from "vscode";
import type { Looks } from "../../shared/state.ts";

/** Tells them now, and whenever they change. */
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
    // `auto` is the system's wish, which the webview asks itself.
    reducedMotion: motion === "on",
  };
}
