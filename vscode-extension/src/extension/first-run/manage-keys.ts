/**
 * Implements "Manage Keys": lists the origins with a key in this editor's secret storage, and
 * deletes keys.
 */
import * as vscode from "vscode";
import { forgetKey, origins, type Secrets } from "../client/keys.ts";
import { askModal, say } from "../say.ts";

/** Shows the list until the user closes it; keys themselves are never shown. */
export async function manageKeys(secrets: Secrets): Promise<void> {
  for (;;) {
    const kept = await origins(secrets);
    if (kept.length === 0) {
      const words =
        "This editor keeps no keys. Keys in the system's keyring are listed by `indwell logout`.";
      void say("info", words);
      return;
    }
    const origin = await vscode.window.showQuickPick(kept, {
      title: "Keys that this editor keeps",
      placeHolder: "Choose one to forget it",
    });
    if (origin === undefined) return;
    const answer = await askModal(
      `Forget the key of ${origin}?`,
      "The running server uses it until it is restarted.",
      [{ title: "Forget" }],
    );
    if (answer !== undefined) await forgetKey(secrets, origin);
  }
}
