/** Asks for a line of text in an input box, for commands, and if the panel cannot be shown. */

import * as vscode from "vscode";
import type { AskParams, AskResult } from "../../protocol.ts";
import { t } from "../../shared/l10n.ts";
import { plainWords } from "../plain-words.ts";
import { askForWords } from "../say.ts";

const OWN_WORDS = t("Answer in your own words…");

/** Returns the typed text, or null if the box was closed. `token` cancels the question. */
export async function askInABox(
  prompt: string,
  placeholder = "",
  token?: vscode.CancellationToken,
): Promise<string | null> {
  const typed = await askForWords(
    { title: "Indwell", prompt, placeHolder: placeholder, ignoreFocusOut: true },
    token,
  );
  return typed ?? null;
}

/**
 * Asks a question of the server if the panel cannot be shown: by a list if it has options, or by
 * the box.
 */
export async function askElsewhere(
  { prompt, placeholder, by, options }: AskParams,
  token: vscode.CancellationToken,
): Promise<AskResult> {
  const question = by === "model" ? t("The model asks: {0}", prompt) : prompt;
  if (options.length > 0) {
    const rows = options.map((option, chosen) => ({ label: plainWords(option), chosen }));
    const picked = await vscode.window.showQuickPick(
      [...rows, { label: OWN_WORDS, chosen: null }],
      { title: "Indwell", placeHolder: plainWords(question), ignoreFocusOut: true },
      token,
    );
    if (picked === undefined) return { text: null };
    if (picked.chosen !== null) return { text: null, chosen: picked.chosen };
  }
  return { text: await askInABox(question, placeholder, token) };
}
