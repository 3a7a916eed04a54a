/** Answers the server's questions to the user: permissions, text, the first run. */
import * as vscode from "vscode";
import type { LanguageClient } from "vscode-languageclient/node";
import type {
  AskParams,
  EditorRequests,
  FirstRunParams,
  PermissionParams,
} from "../../../protocol.ts";
import { askElsewhere } from "../../client/ask-box.ts";
import type { FirstRunFlow } from "../../first-run/flow.ts";
import type { ChatViewProvider } from "../panel/view.ts";
import type { Questions } from "./questions.ts";

type Answer<Method extends keyof EditorRequests> = Promise<EditorRequests[Method]["result"]>;

/** Registers the handlers on a client. */
export function serveQuestions(
  client: LanguageClient,
  questions: Questions,
  flow: FirstRunFlow,
  view: ChatViewProvider,
  shown: (session: string) => "panel" | "tab" | "nowhere",
): vscode.Disposable {
  return vscode.Disposable.from(
    client.onRequest(
      "indwell/permission",
      (params: PermissionParams, token: vscode.CancellationToken): Answer<"indwell/permission"> =>
        questions.permission(params, token),
    ),
    client.onRequest(
      "indwell/ask",
      async (params: AskParams, token: vscode.CancellationToken): Answer<"indwell/ask"> => {
        // If the asking session is not shown, a badge and a notice show the question; a visible tab
        // shows it itself.
        const session = params.session ?? "";
        const isElsewhere = session !== "" && shown(session) !== "panel";
        if (isElsewhere || view.visible || (await view.show(false)))
          return questions.ask(params, token);
        return askElsewhere(params, token);
      },
    ),
    client.onRequest(
      "indwell/firstRun",
      async (
        { reason }: FirstRunParams,
        token: vscode.CancellationToken,
      ): Answer<"indwell/firstRun"> => {
        await view.show(true);
        return flow.ask(reason, token);
      },
    ),
  );
}
