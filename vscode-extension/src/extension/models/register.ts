/** Gives the server access to the editor's own language models: the list, and replies in parts. */
import * as vscode from "vscode";
import type { LanguageClient } from "vscode-languageclient/node";
import type {
  CompleteParams,
  CompleteResult,
  EditorModelsResult,
  ModelPiecesParams,
  ModelRequest,
} from "../../protocol.ts";
import { realClock } from "../clock.ts";
import type { Server } from "../server/server.ts";
import { ModelList } from "./list.ts";
import { relay } from "./relay.ts";
import { messagesOf, type Piece, pieceOf, refusalOf, selectorOf, toolsOf } from "./translate.ts";

/** The interface of the editor's models for other modules. */
export interface Models extends vscode.Disposable {
  /** Fires when the server has been notified of a changed list. */
  readonly onDidChange: vscode.Event<void>;
}

/** Serves each process of `server`. A model is called only for a turn, which the user has begun. */
export function registerModels(server: Server): Models {
  const changed = new vscode.EventEmitter<void>();
  const tell = (): void => {
    server.notify("indwell/didChangeEditorModels", {});
    changed.fire();
  };
  const list = new ModelList(() => vscode.lm.selectChatModels(), tell, realClock);
  const parts = vscode.Disposable.from(
    changed,
    list,
    vscode.lm.onDidChangeChatModels(() => list.heard()),
    server.attach((client) =>
      vscode.Disposable.from(
        client.onRequest(
          "indwell/editorModels",
          async (_params, token: vscode.CancellationToken): Promise<EditorModelsResult> => {
            const models = await list.rows();
            // Extensions that provide models may start slowly; the server stops waiting and asks
            // again.
            if (token.isCancellationRequested) tell();
            return { models };
          },
        ),
        client.onRequest(
          "indwell/complete",
          ({ id, request }: CompleteParams, token: vscode.CancellationToken) =>
            complete(client, id, request, token),
        ),
      ),
    ),
  );
  return { onDidChange: changed.event, dispose: () => parts.dispose() };
}

async function complete(
  client: LanguageClient,
  id: string,
  request: ModelRequest,
  token: vscode.CancellationToken,
): Promise<CompleteResult> {
  const send = (pieces: readonly Piece[]): Promise<void> => {
    const params: ModelPiecesParams = { id, pieces: pieces.map((piece) => ({ ...piece })) };
    return client.sendNotification("indwell/modelPieces", params);
  };
  try {
    const [model] = await vscode.lm.selectChatModels(selectorOf(request.model));
    if (model === undefined) return refusalOf(vscode.LanguageModelError.NotFound());
    const response = await model.sendRequest(
      messagesOf(vscode, request),
      { justification: request.justification, tools: toolsOf(request) },
      token,
    );
    await relay(response.stream, (part) => pieceOf(vscode, part), send, realClock);
    return {};
  } catch (error) {
    return refusalOf(error);
  }
}
