/**
 * Implements "Manage Keys": lists the origins with a key in this editor's secret storage, and
 * deletes keys.
 */

import * as vscode from "vscode";
import { t } from "../../shared/l10n.ts";
import { forgetKey, origins, type Secrets } from "../client/keys.ts";
import { askModal, say } from "../say.ts";

/** Shows the list until the user closes it; keys themselves are never shown. */
export async function manageKeys(secrets: Secrets): Promise<void> {
  for (;;) {
    const kept = await origins(secrets);
    if (kept.length === 0) {
      const words = t(
        "This editor keeps no keys. Keys in the system's keyring are listed by `indwell logout`.",
      );
      void say("info", words);
      return;
    }
    const origin = await vscode.window.showQuickPick(kept, {
      title: t("Keys that this editor keeps"),
      placeHolder: t("Choose one to forget it"),
    });
    if (origin === undefined) return;
    const answer = await askModal(
      t("Forget the key of {0}?", origin),
      t("The running server uses it until it is restarted."),
      [{ title: t("Forget") }],
    );
    if (answer !== undefined) await forgetKey(secrets, origin);
  }
}
