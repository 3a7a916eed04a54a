/** Implements the Source Control button that writes a commit message; the user commits. */

import * as vscode from "vscode";
import type { CommitMessageResult } from "../../../protocol.ts";
import { t } from "../../../shared/l10n.ts";
import { showProgress } from "../../say.ts";
import type { Server } from "../../server/server.ts";
import { repositoryAt, repositoryOf } from "../../suggestions/git.ts";
import type { Handler } from "./run.ts";

/** The handler; a menu of Source Control passes the source control, with the root of its repository. */
export function commitCommands(server: Server): Readonly<Record<string, Handler>> {
  const written = new Map<string, string>();
  return {
    "indwell.commitMessage": async (...args) => {
      const root = rootIn(args);
      const repository =
        root === null
          ? repositoryOf(vscode.window.activeTextEditor?.document.uri)
          : repositoryAt(root);
      if (repository === null) throw new Error(t("there is no git repository here"));
      const uri = repository.rootUri.toString();
      const params = { command: "indwell.commitMessage", arguments: [{ uri, quiet: true }] };
      const made = await showProgress(t("Indwell: writing a commit message"), (_step, token) =>
        server.request<CommitMessageResult>("workspace/executeCommand", params, token),
      );
      const typed = repository.inputBox.value;
      const isOurs = typed.trim() === "" || typed === written.get(uri);
      repository.inputBox.value = isOurs ? made.message : `${typed.trimEnd()}\n\n${made.message}`;
      written.set(uri, made.message);
    },
  };
}

function rootIn([first]: readonly unknown[]): vscode.Uri | null {
  if (typeof first !== "object" || first === null || !("rootUri" in first)) return null;
  return first.rootUri instanceof vscode.Uri ? first.rootUri : null;
}
