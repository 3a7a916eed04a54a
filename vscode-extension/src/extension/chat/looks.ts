/** The editor's settings for the panel's appearance. */
import * as vscode from "vscode";
import type { Looks } from "../../shared/state.ts";

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
