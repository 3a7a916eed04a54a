/** A question for a line of text, in an input box: where the panel cannot show it, and for commands. */
import type * as vscode from "vscode";
import { askForWords } from "../say.ts";

/** What was typed; null if the box was closed. `token` takes the question back. */
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
